/** The command `probe`: finds out what a server of models is, and what its entry in the configuration should say. */
import { hiderFor } from "../../context/secrets.ts";
import { withSettings } from "../connect/edit.ts";
import { readFile, writeFile } from "../connect/files.ts";
import { FormatError } from "../connect/formats/format.ts";
import { readArguments } from "../flags.ts";
import { invocation } from "../invocation.ts";
import { type Program, UsageError } from "../program.ts";
import { printable } from "../../util/printable.ts";
import { ProbeError } from "./asking.ts";
import { type Examined, examineServer } from "./examine.ts";

/** How long one answer may take, in milliseconds: some servers load a model first. */
const PATIENCE_MS = 60_000;

const help = (program: string) =>
  `Usage: ${program} probe <base URL> [options]

Asks a server of models some forty small requests, and prints what it is, how it does
what agents need, and the entry of "upstreams" that it should have, key by key.

  --model <name>        the model to ask; default the first that the server lists
  --secret-env <name>   the variable that holds the server's secret
  --write <name>        write the entry into the configuration, under this name
  --json                print all of it as JSON
`;

const OPTIONS = {
  model: { type: "string" },
  "secret-env": { type: "string" },
  write: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Returns the exit code. Throws `UsageError`. */
export async function probe(args: readonly string[], config: string | undefined, program: Program): Promise<number> {
  const { platform, streams: { print, say } } = program;
  const { values, positionals: [url, ...more] } = readArguments(args, OPTIONS);
  if (values.help) {
    print(help(invocation(platform)).trimEnd());
    return 0;
  }
  if (url === undefined || more.length > 0 || !isAddress(url)) {
    throw new UsageError("Expected the base URL of one server: probe http://127.0.0.1:8080/v1");
  }
  const { model, write, "secret-env": variable } = values;
  // A server may repeat the secret that it was sent.
  const hide = hiderFor(variable === undefined ? [] : [platform.env(variable) ?? ""]);
  checkName(write);
  try {
    const secret = secretIn(variable, platform.env);
    const examined = await examineServer({ url, model, secret, patienceMs: PATIENCE_MS });
    print(hide(values.json ? JSON.stringify(examined, null, 2) : report(examined, write ?? "server")));
    if (write !== undefined) {
      say(writeEntry(config ?? (platform.env("LANEWAY_CONFIG") || "gateway.json"), write, examined));
    }
    return 0;
  } catch (error) {
    if (!isForUser(error)) throw error;
    say(printable(hide((error as Error).message)));
    return 1;
  }
}

function checkName(upstream: string | undefined): void {
  if (upstream === undefined || /^[a-z][\w-]*$/.test(upstream)) return;
  throw new UsageError(`"${upstream}" is no name of an upstream`);
}

/** Whatever the file system refuses is the user's to mend, too. */
function isForUser(error: unknown): boolean {
  return error instanceof ProbeError || error instanceof FormatError || "code" in (error as object);
}

function isAddress(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

function secretIn(name: string | undefined, env: Program["platform"]["env"]) {
  if (name === undefined) return undefined;
  const value = env(name);
  if (!value) throw new ProbeError(`The variable ${name} is not set here`);
  return { env: name, value };
}

/** What was found, and the entry with a reason for each of its settings. */
export function report({ baseUrl, title, model, findings, entry, reasons }: Examined, name: string): string {
  const width = Math.max(...findings.map(({ property }) => property.length));
  const lines = Object.entries(entry).flatMap(([key, value], index, all) => [
    `    // ${reasons[key]}`,
    `    ${JSON.stringify(key)}: ${JSON.stringify(value)}${index < all.length - 1 ? "," : ""}`,
  ]);
  return [
    `${baseUrl}: ${printable(title ?? "a server that tells nothing of itself")}, asked for ${printable(model)}`,
    "",
    ...findings.map(({ property, value }) => `  ${property.padEnd(width)}  ${printable(value)}`),
    "",
    'Its entry in "upstreams":',
    "",
    `  ${JSON.stringify(name)}: {`,
    ...lines,
    "  }",
  ].join("\n");
}

/** Into a configuration that extends the built-in one, where there is none yet. Returns what was done. */
function writeEntry(path: string, name: string, { entry }: Examined): string {
  const found = readFile(path);
  const settings = [
    { at: ["extends"], value: "default", isDefault: true },
    { at: ["upstreams", name], value: entry },
  ];
  const text = withSettings(found?.text ?? "", { path, format: "json", settings });
  writeFile(found?.path ?? path, text, found?.mode ?? 0o644);
  return `Written to ${path}. A lane reaches it by a model's target: { "upstream": "${name}", "model": "..." }`;
}
