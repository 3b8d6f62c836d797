/** A gateway that runs code at an interpreter which knows one program, before models that play their rounds. */
import type { JsonObject } from "../../src/canonical/json.ts";
import type { RunRequest } from "../../src/interpreter/protocol.ts";
import type { TestApp } from "./app.ts";
import { ENV } from "./app.ts";
import { type Asked, type HostedRigOptions, newHostedRig } from "./hosted_rig.ts";

/** The blocks of an answer with a call of code and a call of the client's own. */
export const TOOL_CALLS = ["server_tool_use", "tool_use", "code_execution_tool_result"];

export interface CodeRig {
  app: TestApp;
  fetch: typeof globalThis.fetch;
  asked: Asked[];
  ran: RunRequest[];
  /** How often the interpreter was asked for anything. */
  calls(): number;
  /** The containers are gone. */
  forget(): void;
  /** The next code makes a file. */
  make(name: string, text: string): void;
}

export interface CodeRigOptions extends HostedRigOptions {
  /** The error with which the interpreter answers. */
  failure?: string;
  /** Whether the configuration has no code run. */
  isOff?: boolean;
}

const KEYS = [
  { name: "team", secret: { env: "TEAM_KEY" } },
  { name: "guest", secret: { env: "GUEST_KEY" } },
];

export async function withCode(
  { failure, isOff, config, ...options }: CodeRigOptions,
  use: (rig: CodeRig) => Promise<void>,
): Promise<void> {
  const owners = new Map<string, string>();
  const ran: RunRequest[] = [];
  let made: { name: string; data: string }[] = [];
  let calls = 0;
  const { app, asked } = newHostedRig({
    newId: () => crypto.randomUUID(),
    ...options,
    env: {
      ...ENV,
      LANEWAY_INTERPRETER_URL: "http://interpreter.test",
      LANEWAY_INTERPRETER_TOKEN: "a-token-of-sixteen-characters",
    },
    config: {
      keys: KEYS,
      hostedTools: isOff ? {} : { codeExecution: {} },
      ...config,
    } as unknown as JsonObject,
    async others(request) {
      calls++;
      if (request.headers.get("authorization") !== "Bearer a-token-of-sixteen-characters") {
        return Response.json({ error: "unauthorized" }, { status: 401 });
      }
      const { container, owner, ...more } = await request.json() as RunRequest;
      if (request.url.endsWith("/find")) {
        return Response.json(owners.get(container) === owner ? { expires: 2e12 } : { error: "expired" });
      }
      ran.push({ container, owner, ...more });
      if (failure) return Response.json({ error: failure });
      owners.set(container, owner);
      const answer = { stdout: "42\n", stderr: "", exitCode: 0, files: made, expires: 2e12 };
      made = [];
      return Response.json(answer);
    },
  });
  try {
    await use({
      app,
      asked,
      ran,
      fetch: (input, init) => app.fetch(new Request(input, init)),
      calls: () => calls,
      forget: () => owners.clear(),
      make: (name, text) => made.push({ name, data: btoa(text) }),
    });
  } finally {
    await app.close();
  }
}
