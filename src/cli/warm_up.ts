/** What a first request would do for the first time is done before it comes: schemas compile, and the engine sees the code run. */
import { createApp, parseConfig } from "../app.ts";
import { compileSchemas } from "../contract/compiled.ts";
import { builtin } from "../util/builtin.ts";
import type { Program } from "../programs/program.ts";

/** The wires that a gateway speaks to its upstreams. Each of these upstreams is the gateway itself. */
const WIRES = ["chat", "messages", "responses"];

/** What requests with keys, other letters than ASCII, compressed bodies or conversations need, and what the descriptors are counted with. */
const MODULES = [
  "node:buffer",
  "node:crypto",
  "node:zlib",
  "node:util",
  "node:timers",
  "node:fs",
  "node:v8",
  "node:os",
] as const;

/**
 * A short exchange on each wire, whole and streamed, in a gateway that calls itself: no network, no store, no log. Before each of
 * them it waits until `mayGoOn`: a client that comes meanwhile is answered first.
 */
export async function warmUp(
  { platform, plugins }: Pick<Program, "platform" | "plugins">,
  mayGoOn: () => Promise<unknown>,
): Promise<void> {
  await mayGoOn();
  const compiler = compileSchemas(mayGoOn);
  const env = () => undefined;
  const config = parseConfig(CONFIG, { plugins, platform, env });
  const app = createApp({
    config,
    plugins,
    platform,
    env,
    log() {},
    fetch: (input, init) => app.fetch(new Request(input, init)),
  });
  try {
    for (const model of WIRES) {
      for (const stream of [false, true]) {
        await mayGoOn();
        const response = await app.fetch(question({ model, stream }));
        await response.text();
      }
    }
    for (const name of MODULES) {
      await mayGoOn();
      builtin(name);
    }
    await compiler.done;
  } finally {
    await app.close();
  }
}

function question(fields: { model: string; stream: boolean }): Request {
  const body = JSON.stringify({ ...fields, messages: [{ role: "user", content: "Hello" }] });
  const headers = { "content-type": "application/json" };
  return new Request("http://127.0.0.1/warm/v1/chat/completions", { method: "POST", headers, body });
}

const target = (upstream: string, model: string) => ({ task: "chat", targets: [{ upstream, model }] });

const CONFIG = {
  store: { kind: "memory" },
  observe: { telemetry: false },
  upstreams: {
    sandbox: { driver: "sandbox" },
    ...Object.fromEntries(WIRES.map((driver) => [driver, { driver, baseUrl: "http://127.0.0.1/warm/v1" }])),
  },
  lanes: {
    warm: {
      models: {
        sandbox: target("sandbox", "sandbox"),
        ...Object.fromEntries(WIRES.map((wire) => [wire, target(wire, "sandbox")])),
      },
    },
  },
};
