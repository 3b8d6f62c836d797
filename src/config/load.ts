/** Finds, reads and checks the configuration. */
import type { z } from "zod";
import embedded from "../../gateway.default.json" with { type: "json" };
import { DEEPEST_JSON, excessOf } from "../canonical/json_limits.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../canonical/json.ts";
import { formatPath, sizeIn } from "../contract/validate.ts";
import { builtin } from "../util/builtin.ts";
import { mergeJson, withoutComments, withPresets } from "../util/config_text.ts";
import { check, type Problem, type Surroundings } from "./check.ts";
import type { Config } from "./schema.ts";
import { configSchemaWith } from "./stage_sections.ts";

export interface LoadedConfig {
  config: Config;
  /** The origin of the configuration, in words. */
  source: string;
  /** The file that it came from. Absent for the built-in one. */
  file?: string;
  /** The upstreams of the built-in configuration that the file does not mention. */
  inherited: readonly string[];
}

export interface LoadOptions extends Surroundings {
  /** The file to read. If absent: the one that LANEWAY_CONFIG names, or `gateway.json`, or the built-in default. */
  path?: string;
  /** Reads the text of a file. By default, as Node does. */
  readText?(path: string): string;
  /** The options of the command line, which override the file. */
  listen?: { hostname?: string; port?: number };
}

/** A configuration that cannot be used, with everything that is wrong with it. The message has several lines, for people. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly Problem[];

  constructor(source: string, problems: readonly Problem[]) {
    const lines = problems.map(({ path, message }) => `  ${path === "" ? "" : `${path}: `}${message}`);
    super([`Cannot use the configuration in ${source}:`, ...lines].join("\n"));
    this.problems = problems;
  }
}

/** The configuration to run with. Throws a `ConfigError`. */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const { written, source, file, inherited } = readConfig(options);
  const config = parseWhole(written, source, { ...options, secretText: options.secretText ?? readFile });
  return { config, source, file, inherited };
}

/** The configuration as it is written, merged but not checked. Throws a `ConfigError` if it cannot be read. */
export function readConfig(
  options: Omit<LoadOptions, keyof Surroundings> & Pick<Surroundings, "env" | "providers">,
): { written: unknown } & Pick<LoadedConfig, "source" | "file" | "inherited"> {
  const { value: own, source, file } = read(options.path || options.env("LANEWAY_CONFIG"), options.readText);
  // The settings of the default are weaker than those of a provider that the file names.
  const value = withPresets(own, () => options.providers ?? {});
  const isExtended = isJsonObject(value) && value.extends === "default";
  const whole = isExtended ? mergeJson(DEFAULT, { ...value, extends: null }) : value;
  const named = isExtended && isJsonObject(value.upstreams) ? Object.keys(value.upstreams) : [];
  const inherited = isExtended || file === undefined
    ? Object.keys(DEFAULT.upstreams as JsonObject).filter((name) => !named.includes(name))
    : [];
  // A value of the wrong type stays, so that the schema refuses it.
  const canListen = isJsonObject(whole) && isJsonObject(whole.listen ?? {});
  return { written: canListen ? mergeJson(whole, { listen: options.listen }) : whole, source, file, inherited };
}

/** A configuration from plain JSON data. Throws a `ConfigError` with the problems of both passes. */
export function parseConfig(value: unknown, source: string, surroundings: Surroundings): Config {
  return parseWhole(withPresets(value, () => surroundings.providers ?? {}), source, surroundings);
}

/** `whole`: with the settings of providers. */
function parseWhole(whole: unknown, source: string, surroundings: Surroundings): Config {
  const { stages } = surroundings;
  const result = configSchemaWith(stages).safeParse(whole, { error: describeIssue, jitless: true });
  const problems = result.success ? [] : result.error.issues.flatMap(problemsOf).filter(isNoProviders(whole));
  const known = new Set(problems.map(({ path }) => path));
  problems.push(...check(whole, surroundings).filter(({ path }) => !known.has(path)));
  if (!result.success || problems.length > 0) throw new ConfigError(source, problems);
  return result.data;
}

/** A driver that is missing because its provider is unknown is no problem of its own. */
function isNoProviders(config: unknown): (problem: Problem) => boolean {
  const upstreams = isJsonObject(config) && isJsonObject(config.upstreams) ? Object.entries(config.upstreams) : [];
  const without = upstreams.filter(([, one]) =>
    isJsonObject(one) && typeof one.provider === "string" && one.driver === undefined
  );
  const paths = new Set(without.map(([name]) => formatPath(["upstreams", name, "driver"])));
  return ({ path }) => !paths.has(path);
}

export const DEFAULT_PATH = "gateway.json";
const DEFAULT: JsonObject = embedded;

function read(path: string | undefined, readText = readFile): { value: JsonValue; source: string; file?: string } {
  const source = `"${path || DEFAULT_PATH}"`;
  let text;
  try {
    text = readText(path || DEFAULT_PATH);
  } catch (error) {
    const isMissing = (error as { code?: string }).code === "ENOENT";
    if (!path && isMissing) return { value: DEFAULT, source: "the built-in default" };
    const reason = isMissing ? "No such file" : (error as Error).message;
    throw new ConfigError(source, [{ path: "", message: `Cannot read it: ${reason}` }]);
  }
  return { value: parseJson(withoutComments(text.replace(/^\ufeff/, "")), source), source, file: path || DEFAULT_PATH };
}

function readFile(path: string): string {
  return builtin("node:fs").readFileSync(path, "utf8");
}

/** The depth is limited, because deeper values would overflow the stack of recursive functions. */
const NESTING = { depth: DEEPEST_JSON, values: Infinity, numbers: Infinity, names: Infinity };

function parseJson(text: string, source: string): JsonValue {
  if (text.trim() === "") throw new ConfigError(source, [{ path: "", message: "The file is empty" }]);
  if (excessOf(text, NESTING)) {
    const message = `Its JSON is nested more than ${DEEPEST_JSON} levels deep`;
    throw new ConfigError(source, [{ path: "", message }]);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const { line, column } = locateFault(text);
    // The platform's message ends with a position or an excerpt, and neither is reliable.
    const [reason] = (error as Error).message.split(/ in JSON at|, (?:\.\.\.)?"| after JSON at/);
    throw new ConfigError(source, [{ path: "", message: `line ${line}, column ${column}: ${reason}` }]);
  }
}

function problemsOf(issue: z.core.$ZodIssue): Problem[] {
  if (issue.code === "unrecognized_keys") {
    const messages = issue.message.split("\n");
    return issue.keys.map((key, index) => ({ path: formatPath([...issue.path, key]), message: messages[index]! }));
  }
  const message = issue.code === "invalid_key" ? issue.issues[0]!.message : issue.message;
  return [{ path: formatPath(issue.path), message }];
}

const TYPE_NAMES: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  object: "an object",
  record: "an object",
  array: "an array",
};

/** Our message for a value of the wrong type or size. It never contains the value, which may be a secret. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (issue.code === "invalid_value") {
    const values = issue.values.map((value) => JSON.stringify(value));
    const wanted = `${values.length > 1 ? "one of " : ""}${values.join(", ")}`;
    return input === undefined ? `Missing: expected ${wanted}` : `Expected ${wanted}`;
  }
  if (issue.code !== "invalid_type") return sizeIn(issue)?.replace(/^m/, "M");
  const wanted = TYPE_NAMES[issue.expected] ?? issue.expected;
  if (input === undefined) return `Missing: expected ${wanted}`;
  const type = Array.isArray(input) ? "array" : typeof input;
  const got = input === null || type === "number" || type === "boolean" ? String(input) : TYPE_NAMES[type] ?? type;
  return `Expected ${wanted}, got ${got}`;
}

/** The position of the mistake in invalid JSON, which the platform's error does not always have. Lines and columns count from 1. */
export function locateFault(text: string): { line: number; column: number } {
  const before = text.slice(0, faultOffset(text)).split("\n");
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

function faultOffset(text: string): number {
  let offset = 0;
  const take = (token: RegExp): boolean => {
    const found = new RegExp(`[ \\t\\r\\n]*(?:${token.source})`, "y");
    found.lastIndex = offset;
    if (!found.test(text)) return false;
    offset = found.lastIndex;
    return true;
  };
  const string = () => take(/"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/);
  const scalar = () => string() || take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/);
  const list = (close: RegExp, item: () => boolean): boolean => {
    if (take(close)) return true;
    do {
      if (!item()) return false;
    } while (take(/,/));
    return take(close);
  };
  const value = (): boolean => {
    if (take(/\{/)) return list(/\}/, () => string() && take(/:/) && value());
    if (take(/\[/)) return list(/\]/, value);
    return scalar();
  };
  value();
  take(/(?:)/);
  return offset;
}
