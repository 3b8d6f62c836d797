/** The files in `deploy/`, read as far as the tests need them. */
import { parse, parseAll } from "@std/yaml";
import { pluginFacts } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/schema.ts";

export const ROOT = new URL("../../", import.meta.url);

export function readText(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** Data of a YAML file, in which every text may be looked at. */
// deno-lint-ignore no-explicit-any -- the shapes are the files' own; what is asserted says what is expected
export type Data = any;

export function readYaml(path: string): Data {
  return parse(readText(path));
}

/** All documents of a text in YAML. */
export function parseDocuments(text: string): Data[] {
  return (parseAll(text) as Data[]).filter((document) => document !== null);
}

/** A configuration, checked by the gateway itself, where these variables are set. */
export function checkedConfig(text: string, variables: Record<string, string>): Config {
  const env = (name: string) => variables[name];
  return loadConfig({ path: "gateway.json", ...pluginFacts(), env, readText: () => text }).config;
}

/** The names in `{ "env": "NAME" }`, however deep. */
export function variablesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "env" in value && typeof value.env === "string" ? [value.env] : [];
  return [...own, ...Object.values(value).flatMap(variablesIn)];
}

/** The steps of the Containerfile, each a line: `COPY src src`. */
export function containerSteps(): string[] {
  return readText("deploy/Containerfile").replace(/\\\n */g, "").split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The command of a step of the form `ENTRYPOINT ["a", "b"]`. */
export function commandOf(step: string | undefined): string[] {
  return JSON.parse(/\[.*\]$/.exec(step ?? "")?.[0] ?? "[]");
}
