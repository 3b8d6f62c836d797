/** The command `probe`: finds out what a model server supports, and how to configure it. */
import { laneNameSchema } from "../../config/lane_schema.ts";
import { hiderFor } from "../../context/secrets.ts";
import { withoutComments } from "../../util/config_text.ts";
import { printable } from "../../util/printable.ts";
import { withSettings } from "../connect/edit.ts";
import { readFile, writeFile } from "../connect/files.ts";
import { FormatError } from "../connect/formats/format.ts";
import { PROBE } from "../commands/mod.ts";
import { readArguments, toHeaderName } from "../flags.ts";
import { printFailure } from "../json_output.ts";
import { type Program, UsageError } from "../program.ts";
import { withProgress } from "../progress.ts";
import { type Examined, examineServer } from "./examine.ts";
import { ProbeError } from "./probe_call.ts";
import { isNotPermitted } from "../../platform/not_permitted.ts";

/** How long one answer may take, in milliseconds: some servers load a model first. */
const PATIENCE_MS = 60_000;

/** How many requests most servers get. */
const USUAL_REQUESTS = 40;

/** Returns the exit code. Throws `UsageError`. */
export async function probe(args: readonly string[], config: string | undefined, program: Program): Promise<number> {
  const { platform, streams: { print, say } } = program;
  const { values, positionals: [url, ...more] } = readArguments(args, PROBE.options);
  if (url === undefined || more.length > 0 || !isAddress(url)) {
    throw new UsageError(`Expected the base URL of one server: probe http://${exampleFor(url)}`);
  }
  const { model, write, "secret-env": variable, "secret-header": named } = values;
  const header = toHeaderName(named);
  // A server may repeat the secret.
  const hide = hiderFor(variable === undefined ? [] : [platform.env(variable) ?? ""]);
  checkName(write);
  try {
    const secret = secretIn(variable, header, platform.env);
    const examined = await withProgress(program, `Asking ${new URL(url).host}`, (show) => {
      let requests = 0;
      const onAsk = () => show(`Asking ${new URL(url).host}: request ${++requests} of about ${USUAL_REQUESTS}`);
      return examineServer({ url, model, secret, patienceMs: PATIENCE_MS, onAsk });
    });
    print(hide(values.json ? JSON.stringify({ ok: true, ...examined }, null, 2) : report(examined, write ?? "server")));
    if (write !== undefined) {
      say(writeEntry(config ?? (platform.env("LANEWAY_CONFIG") || "gateway.json"), write, examined));
    }
    return 0;
  } catch (error) {
    if (!isForUser(error)) throw error;
    const reason = printable(hide((error as Error).message));
    if (values.json) printFailure(program.streams, reason);
    else say(reason);
    return 1;
  }
}

function checkName(upstream: string | undefined): void {
  if (upstream === undefined || /^[a-z][\w-]*$/.test(upstream)) return;
  throw new UsageError(`"${upstream}" cannot be the name of an upstream`);
}

/** Whether the message is for the user, who can also fix errors of the file system. */
function isForUser(error: unknown): boolean {
  return error instanceof ProbeError || error instanceof FormatError || "code" in (error as object) ||
    isNotPermitted(error);
}

/** A base URL for an example, without its scheme: the one that the user typed without one. */
function exampleFor(typed: string | undefined): string {
  const isHost = typed !== undefined && !/^-|:\/\//.test(typed) && isAddress(`http://${typed}`);
  return isHost ? typed : "127.0.0.1:8080/v1";
}

function isAddress(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

function secretIn(name: string | undefined, header: string | undefined, env: Program["platform"]["env"]) {
  if (name === undefined) return undefined;
  const value = env(name);
  if (!value) throw new ProbeError(`The variable ${name} is not set here`);
  return { env: name, value, header };
}

/** The findings, the entry to copy, and the reason for each of its settings. */
export function report({ baseUrl, title, model, findings, entry, reasons }: Examined, name: string): string {
  const json = JSON.stringify(entry, null, 2).split("\n");
  return [
    `${baseUrl}: ${printable(title ?? "an unknown server")}, tested with ${printable(model)}`,
    "",
    ...columns(findings.map(({ property, value }) => [property, printable(value)])),
    "",
    'Its entry in "upstreams":',
    "",
    `  ${JSON.stringify(name)}: ${json.join("\n  ")}`,
    "",
    ...columns(Object.keys(entry).map((key) => [key, reasons[key]!])),
  ].join("\n");
}

function columns(rows: readonly (readonly [name: string, text: string])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
}

/** The wires by which an upstream serves each task of a lane. */
const WIRES: readonly (readonly [task: string, wires: readonly string[]])[] = [
  ["chat", ["chat wire", "messages wire", "responses wire"]],
  ["embedding", ["embeddings wire"]],
  ["rerank", ["rerank wire"]],
];

/**
 * Writes the entry into the configuration. If there is no file yet, it writes one that extends the built-in configuration. A lane
 * with the upstream's name serves its models, unless a lane already uses the upstream or has that name. Returns what was done.
 */
function writeEntry(path: string, name: string, { entry, findings }: Examined): string {
  const found = readFile(path);
  const served = findings.filter(({ value }) => value === "served").map(({ property }) => property);
  const tasks = WIRES.filter(([, wires]) => wires.some((wire) => served.includes(wire))).map(([task]) => [task, name]);
  const lane = tasks.length > 0 && canHaveLane(name, found?.text)
    ? { upstreams: Object.fromEntries(tasks) }
    : undefined;
  const settings = [
    { at: ["extends"], value: "default", isDefault: true },
    { at: ["upstreams", name], value: entry },
    ...lane ? [{ at: ["lanes", name], value: lane }] : [],
  ];
  const text = withSettings(found?.text ?? "", { path, format: "jsonc", settings });
  writeFile(found?.path ?? path, text, found?.mode ?? 0o644);
  return lane
    ? `Written to ${path}, with a lane "${name}" that serves its models. Restart the gateway to use it`
    : `Written to ${path}. To use it, add a target to a model of a lane: { "upstream": "${name}", "model": "..." }`;
}

function canHaveLane(name: string, text: string | undefined): boolean {
  if (!laneNameSchema.safeParse(name).success) return false;
  const lanes = JSON.stringify(lanesIn(text));
  return !lanes.includes(JSON.stringify(name));
}

/** The lanes in a configuration. None for invalid JSON, which is refused when it is edited. */
function lanesIn(text = "{}"): unknown {
  try {
    return JSON.parse(withoutComments(text))?.lanes ?? {};
  } catch {
    return {};
  }
}
