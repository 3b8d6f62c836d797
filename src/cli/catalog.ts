/** The command `catalog`: writes the model catalog of a lane for agents that read theirs from a file. */
import { type AppOptions, createApp } from "../app.ts";
import type { Config } from "../config/schema.ts";
import { createMemoryStore } from "../state/memory_store.ts";

/** The file cannot be written. The message is for people. */
export class CatalogError extends Error {}

/** What the command says when the file is written. Throws `CatalogError`. */
export async function catalogCommand(
  lane: string,
  path = `models-${lane}.json`,
  config: Config,
  env: AppOptions["env"],
): Promise<string> {
  const models = await readModels(lane, config, env);
  try {
    await Deno.writeTextFile(path, `${JSON.stringify({ models }, null, 2)}\n`);
  } catch (error) {
    throw new CatalogError(`Cannot write ${path}: ${(error as Error).message}`);
  }
  return `Models of lane "${lane}" written to ${path}: ${models.length}`;
}

/** What the lane tells an agent that asks with its version, asked in this process, where no key is needed. */
async function readModels(lane: string, config: Config, env: AppOptions["env"]): Promise<unknown[]> {
  const store = createMemoryStore({ now: Date.now, limitBytes: 0 });
  const app = createApp({ config: { ...config, keys: [], storedKeys: false }, env, store, log: () => {} });
  const response = await app.fetch(new Request(`http://gateway/${encodeURIComponent(lane)}/v1/models?client_version=`));
  const body = await response.json();
  if (!response.ok) throw new CatalogError(body.error.message);
  const notes = response.headers.get("x-laneway-notes");
  if (notes !== null) throw new CatalogError(`Cannot tell all models of lane "${lane}": ${notes}`);
  return body.models;
}
