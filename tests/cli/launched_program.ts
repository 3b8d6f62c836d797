/**
 * A copy of the program whose launcher knows the command `init` in a form of these tests: it prints what it was given, and writes the
 * text that is among the answers.
 */
import { copy } from "../support/copy.ts";
import { type Launched, withFolder, withLaunched } from "../support/process.ts";
import { until } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);

/** Stands before the launcher's own code. A launcher may write nothing, so a shell does it. */
const INIT = `
if (Deno.args[0] === "init" || Deno.args[0] === "connect") {
  const input = await new Response(Deno.stdin.readable).text();
  const [command, name] = Deno.args;
  const body = input === "" ? {} : command === "init" ? JSON.parse(input) : input;
  const print = (value) => console.log(JSON.stringify(value));
  if (body.hangs || name === "hangs") {
    print({ step: "hangs" });
    await new Deno.Command("sleep", { args: ["1000"] }).output();
  }
  if (command === "connect") {
    print({ step: "first", args: Deno.args, input });
    if (name === "breaks") {
      console.error("it broke");
      Deno.exit(1);
    }
    print({ result: { client: name, ok: true, changed: [] } });
  } else if (name === "write") {
    const child = new Deno.Command("sh", { args: ["-c", 'cat > "gateway.json"'], stdin: "piped" }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(body.text));
    await writer.close();
    await child.status;
    print({ ok: true, files: ["gateway.json"] });
  } else if (name === "plan") {
    print({ ok: true, version: "1", files: [{ path: "gateway.json", text: body.text, isSecret: false }] });
  } else {
    print({ args: Deno.args, input });
  }
  Deno.exit(0);
}
`;

// deno-lint-ignore no-explicit-any -- tests name the fields that they expect
type Answer = any;

export interface Guided extends Launched {
  /** The latest one-time code. */
  code(): Promise<string>;
  /** Posts to the guide, and returns the status and the JSON. */
  post(step: string, body?: object, headers?: Record<string, string>): Promise<{ status: number; body: Answer }>;
  /** Exchanges the latest code for a session's header. */
  open(): Promise<Record<string, string>>;
  facts(headers?: Record<string, string>): Promise<Answer>;
}

const CODE =
  /one-time code(?: was used\. Another page needs| were given\. In a minute, the code is)? ([A-Z0-9]{4}-[A-Z0-9]{4})/g;

/** Starts the copy in a folder with this configuration, or without one. */
export function withGuided(
  config: object | undefined,
  use: (gateway: Guided, folder: string) => Promise<void>,
  { env, args = [], change }: {
    env?: Record<string, string>;
    args?: string[];
    change?(program: string): Promise<void>;
  } = {},
): Promise<void> {
  return withFolder(async (folder) => {
    const program = `${folder}/program`;
    for (const part of ["src", "plugins"]) await copy(new URL(part, ROOT).pathname, `${program}/${part}`);
    for (const file of ["deno.json", "deno.lock", "package.json", "gateway.default.json"]) {
      await Deno.copyFile(new URL(file, ROOT), `${program}/${file}`);
    }
    const launcher = `${program}/src/cli/launch.ts`;
    await Deno.writeTextFile(launcher, INIT + await Deno.readTextFile(launcher));
    await change?.(program);
    const cwd = `${folder}/home`;
    await Deno.mkdir(cwd);
    if (config) await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(config));
    const options = { root: new URL(`file://${program}/`), cwd, env: { XDG_DATA_HOME: cwd, npm_command: "", ...env } };
    await withLaunched(args, options, (gateway) => use(guided(gateway), cwd));
  });
}

function guided(gateway: Launched): Guided {
  const api = `${gateway.url}/console/api/setup`;
  const code = async () => {
    const text = await gateway.said("one-time code");
    return [...text.matchAll(CODE)].at(-1)![1]!;
  };
  const post: Guided["post"] = async (step, body = {}, headers = {}) => {
    const response = await fetch(`${api}/${step}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const isLines = response.headers.get("content-type")?.includes("ndjson");
    const parsed = isLines ? text.trim().split("\n").map((line) => JSON.parse(line)) : JSON.parse(text);
    return { status: response.status, body: parsed };
  };
  return {
    ...gateway,
    code,
    post,
    async open() {
      const { body } = await post("open", { code: await code() });
      return { "x-laneway-setup": body.token };
    },
    facts: async (headers = {}) => await (await connectedAgain(() => fetch(api, { headers }))).json(),
  };
}

/**
 * Asks as browsers and clients' libraries do, which open a connection again, twice at most, if it ends before an answer. Connections
 * that are opened in the moment in which a process closes its port are reset by the system.
 */
export async function connectedAgain<T>(ask: () => Promise<T>, again = 2): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (again === 0) throw error;
    return await connectedAgain(ask, again - 1);
  }
}

/** Waits until the process has ended. */
export async function untilGone(pid: number): Promise<void> {
  await until(async () => {
    const { success } = await new Deno.Command("kill", { args: ["-0", String(pid)], stderr: "null" }).output();
    return !success;
  });
}
