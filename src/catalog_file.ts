/** Writes the model catalog of a lane for agents that read theirs from a file. */
import { createApp, pluginFacts } from "./app.ts";
import { ConfigError, loadConfig } from "./config/load.ts";
import { createMemoryStore } from "./state/memory_store.ts";

if (import.meta.main) {
  const [lane, path = `models-${lane}.json`] = Deno.args;
  if (lane === undefined) fail("Usage: deno task catalog <lane> [file]", 2);
  const models = await readModels(lane);
  try {
    await Deno.writeTextFile(path, `${JSON.stringify({ models }, null, 2)}\n`);
  } catch (error) {
    fail(`Cannot write ${path}: ${(error as Error).message}`, 1);
  }
  say(`Models of lane "${lane}" written to ${path}: ${models.length}`);
}

/** What the lane tells an agent that asks with its version, asked in this process, where no key is needed. */
async function readModels(lane: string): Promise<unknown[]> {
  const env = (name: string) => Deno.env.get(name);
  try {
    const { config } = loadConfig({ ...pluginFacts(), env });
    const store = createMemoryStore({ now: Date.now, limitBytes: 0 });
    const app = createApp({ config: { ...config, keys: [], storedKeys: false }, env, store, log: () => {} });
    const response = await app.fetch(
      new Request(`http://gateway/${encodeURIComponent(lane)}/v1/models?client_version=`),
    );
    const body = await response.json();
    if (!response.ok) fail(body.error.message, 1);
    const notes = response.headers.get("x-laneway-notes");
    if (notes !== null) fail(`Cannot tell all models of lane "${lane}": ${notes}`, 1);
    return body.models;
  } catch (error) {
    if (error instanceof ConfigError) fail(error.message, 1);
    throw error;
  }
}

function fail(message: string, code: number): never {
  say(message);
  Deno.exit(code);
}

function say(text: string): void {
  // deno-lint-ignore no-console -- for people
  console.error(text);
}
