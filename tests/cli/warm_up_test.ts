/** What is done once at the start so that no first request has to do it. */
import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import { createApp, parseConfig } from "../../src/app.ts";
import { warmUp } from "../../src/cli/warm_up.ts";
import { deno } from "../../src/platform/deno.ts";

const WIRES = ["chat", "messages", "responses"];
const upstreams = { driver: "chat", baseUrl: "http://127.0.0.1/oss/v1" };

/** Every client's wire over every upstream's, whole and streamed: the upstream is the gateway's own sandbox. */
async function exchangeAll(): Promise<void> {
  const target = (upstream: string) => ({ task: "chat", targets: [{ upstream, model: "sandbox" }] });
  const config = parseConfig({
    store: { kind: "memory" },
    upstreams: {
      sandbox: { driver: "sandbox" },
      ...Object.fromEntries(WIRES.map((driver) => [driver, { ...upstreams, driver }])),
    },
    lanes: { oss: { models: Object.fromEntries(["sandbox", ...WIRES].map((name) => [name, target(name)])) } },
  });
  const app = createApp({
    config,
    log() {},
    fetch: (input, init) => app.fetch(new Request(input, init)),
  });
  const messages = [{ role: "user", content: "Hello" }];
  const bodies = {
    "chat/completions": { messages },
    messages: { messages, max_tokens: 100 },
    responses: { input: "Hello", store: false },
  };
  for (const [path, fields] of Object.entries(bodies)) {
    for (const model of WIRES) {
      for (const stream of [false, true]) {
        const response = await app.fetch(
          new Request(`http://127.0.0.1/oss/v1/${path}`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model, stream, ...fields }),
          }),
        );
        assertEquals(response.status, 200, `${path} over ${model}: ${await response.text()}`);
      }
    }
  }
  await app.close();
}

/** How many functions `run` makes of text, as a schema is made when it is first used. */
async function countCompiled(run: () => Promise<void>): Promise<number> {
  const { Function: original } = globalThis;
  let count = 0;
  const construct: ProxyHandler<FunctionConstructor>["construct"] = (target, args, as) => {
    count++;
    return Reflect.construct(target, args, as);
  };
  globalThis.Function = new Proxy(original, { construct });
  try {
    await run();
  } finally {
    globalThis.Function = original;
  }
  return count;
}

Deno.test("warm-up: afterwards no schema is left for the first requests to compile, whatever their wires", async () => {
  const { fetch } = globalThis;
  globalThis.fetch = () => Promise.reject(new Error("The warm-up asks the network"));
  try {
    await warmUp({ platform: deno, plugins: {} }, () => Promise.resolve());
  } finally {
    globalThis.fetch = fetch;
  }
  // The count does notice a schema that zod compiles.
  assert(await countCompiled(() => Promise.resolve(void z.object({ text: z.string() }).parse({ text: "" }))) > 0);
  assertEquals(await countCompiled(exchangeAll), 0);
});
