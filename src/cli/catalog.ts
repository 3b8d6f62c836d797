/** The command `catalog`: writes the model catalog of a lane for agents that read theirs from a file. */
import { builtin } from "../util/builtin.ts";
import { createApp, pluginFacts } from "../app.ts";
import { loadConfig } from "../config/load.ts";
import { withPlaceholders } from "../config/secrets.ts";
import type { Config } from "../config/schema.ts";
import { createMemoryStore } from "../state/memory_store.ts";
import { isJsonObject } from "../canonical/json.ts";
import { CATALOG } from "../programs/commands/mod.ts";
import { readArguments } from "../programs/flags.ts";
import { printJson } from "../programs/json_output.ts";
import { withProgress } from "../programs/progress.ts";
import { invocation } from "../programs/invocation.ts";
import { CommandError, type Program, UsageError } from "../programs/program.ts";

/** Throws `CommandError` and `UsageError`. */
export async function writeCatalog(
  args: readonly string[],
  configPath: string | undefined,
  program: Program,
): Promise<number> {
  const { platform, plugins, streams } = program;
  const { values: { json }, positionals: [lane, path = `models-${lane}.json`, ...more] } = readArguments(
    args,
    CATALOG.options,
  );
  if (lane === undefined || more.length > 0) {
    throw new UsageError(`Expected the name of a lane: ${invocation(platform)} catalog <lane> [<file>]`);
  }
  const { config } = loadConfig({ path: configPath, ...pluginFacts(plugins), ...withPlaceholders(platform) });
  const models = await withProgress(
    program,
    `Reading the models of lane "${lane}"`,
    () => readModels(lane, config, program),
  );
  try {
    await builtin("node:fs/promises").writeFile(path, `${JSON.stringify({ models }, null, 2)}\n`);
  } catch (error) {
    throw new CommandError(`Cannot write ${path}: ${(error as Error).message}`);
  }
  if (json) printJson(streams, { lane, file: path, models: models.map(nameOf) });
  else streams.say(`Models of lane "${lane}" written to ${path}: ${models.length}`);
  return 0;
}

/** The name by which the file lists a model. */
function nameOf(model: unknown): unknown {
  return isJsonObject(model) ? model.slug ?? model.id : undefined;
}

/** The lane's answer to an agent that names its version. The request is made in this process, so that it needs no key. */
async function readModels(lane: string, config: Config, { platform, plugins }: Program): Promise<unknown[]> {
  const store = createMemoryStore({ now: Date.now, limitBytes: 0 });
  const open = { ...config, keys: [], storedKeys: false, oidc: undefined };
  const app = createApp({ config: open, store, plugins, platform, log: () => {} });
  const response = await app.fetch(new Request(`http://gateway/${encodeURIComponent(lane)}/v1/models?client_version=`));
  const body = await response.json();
  if (!response.ok) throw new CommandError(body.error.message);
  const notes = response.headers.get("x-laneway-notes");
  if (notes !== null) throw new CommandError(`Cannot list all models of lane "${lane}": ${notes}`);
  return body.models;
}
