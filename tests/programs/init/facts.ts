/** The data of `init` as the program has it, without the machine's environment. */
import builtInConfig from "../../../gateway.default.json" with { type: "json" };
import { providers } from "../../../plugins/mod.ts";
import { likelyTask, serverKinds } from "../../../plugins/programs/probing/mod.ts";
import { pluginFacts } from "../../../src/app.ts";
import type { Config } from "../../../src/config/schema.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { PLACEHOLDER_SECRET } from "../../../src/config/secrets.ts";
import type { Answers } from "../../../src/programs/init/answers.ts";
import type { Facts } from "../../../src/programs/init/standing.ts";
import { planFiles, type PlannedText } from "../../../src/programs/init/plan.ts";

export const FACTS: Facts = {
  providers,
  kinds: serverKinds,
  builtIn: builtInConfig,
  drivers: pluginFacts().drivers,
  likelyTask,
  isSet: () => false,
};

/** The configuration as the gateway reads it. Throws `ConfigError`. */
export function load(text: string): Config {
  const env = (name: string) => name === "LANEWAY_CONFIG" ? undefined : PLACEHOLDER_SECRET;
  return loadConfig({ path: "gateway.json", readText: () => text, ...pluginFacts(), env }).config;
}

/** The planned files by their paths. Throws the problems. */
export function filesFor(answers: Partial<Answers>, text?: string, path = "gateway.json"): Map<string, PlannedText> {
  const planned = planFiles({ sources: [], models: [], ...answers }, { path, text }, FACTS);
  if ("problems" in planned) throw new Error(JSON.stringify(planned.problems));
  return new Map(planned.files.map((file) => [file.path, file]));
}

export function configFor(answers: Partial<Answers>, text?: string): string {
  return filesFor(answers, text).get("gateway.json")!.text;
}
