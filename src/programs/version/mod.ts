/** The command `version`. With `--check` it asks npm's registry for a newer one. Nothing else in Laneway asks for that. */
import manifest from "../../../deno.json" with { type: "json" };
import { isJsonObject } from "../../canonical/json.ts";
import type { Platform } from "../../platform/platform.ts";
import { readText } from "../../util/read_text.ts";
import { VERSION } from "../commands/release.ts";
import { whyUnreached } from "../doctor/reach.ts";
import { readArguments } from "../flags.ts";
import { printJson } from "../json_output.ts";
import { CommandError, type Program, UsageError } from "../program.ts";
import { withProgress } from "../progress.ts";
import { PACKAGE, registryUrl } from "./registry.ts";

/** How long the registry may take, in milliseconds. */
const PATIENCE_MS = 5_000;

/** The longest answer of the registry that is read, in characters. A hundred releases have a twentieth of that. */
const LONGEST = 4_000_000;

/** The releases on the registry. */
interface Released {
  /** Absent if there is no release. */
  newest?: string;
  /** Whether this version is there. */
  hasThis: boolean;
}

/** Returns the exit code. Throws `UsageError` and `CommandError`. */
export async function version(args: string[], program: Program, patienceMs = PATIENCE_MS): Promise<number> {
  const { platform, streams } = program;
  const { values: { check, registry, json }, positionals: [word] } = readArguments(args, VERSION.options);
  if (word !== undefined) throw new UsageError(`Unexpected argument "${word}"`);
  if (registry !== undefined && !check) throw new UsageError("--registry needs --check");
  const { version } = manifest;
  if (!check) {
    if (json) printJson(streams, { version });
    else streams.print(version);
    return 0;
  }
  const url = registryUrl(registry, (name) => variable(platform, name));
  if (!url) {
    throw new UsageError(
      "Cannot use the registry: expected a URL such as https://registry.npmjs.org, without a password",
    );
  }
  const released = await withProgress(program, `Asking ${url.host}`, () => ask(url, platform.fetch, patienceMs));
  const isNewer = released.hasThis && released.newest !== undefined && compare(released.newest, version) > 0;
  if (json) printJson(streams, { version, newest: released.newest ?? null, isNewer, registry: url.href });
  else streams.print(lineFor(released, version, url));
  return 0;
}

/** A variable that may not be read is one that is not set. */
function variable({ env }: Platform, name: string): string | undefined {
  try {
    return env(name);
  } catch {
    return undefined;
  }
}

function lineFor({ newest, hasThis }: Released, own: string, { host }: URL): string {
  if (newest === undefined) return `${own}: no release is on ${host}`;
  if (!hasThis) {
    return `${own}: ${host} does not have this version, so its package "${PACKAGE}" (${newest}) may be someone else's`;
  }
  const order = compare(newest, own);
  if (order > 0) return `${own}: version ${newest} is on ${host}. docs/upgrade.md has the way there and back`;
  return order === 0
    ? `${own}: it is the newest on ${host}`
    : `${own}: it is newer than ${newest}, the newest on ${host}`;
}

function compare(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}

async function ask(registry: URL, fetch: Platform["fetch"], patienceMs: number): Promise<Released> {
  const { host } = registry;
  try {
    const response = await fetch(new URL(PACKAGE, registry), {
      headers: { accept: "application/vnd.npm.install-v1+json, application/json;q=0.5" },
      redirect: "manual",
      signal: AbortSignal.timeout(patienceMs),
    });
    const { text, isCut } = await readText(response.body, LONGEST);
    if (response.status === 404) return { hasThis: false };
    if (response.status !== 200) {
      throw new CommandError(`Cannot ask ${host} for versions: it answers ${response.status}`);
    }
    const released = isCut ? undefined : releasedBy(text);
    if (!released) throw new CommandError(`Cannot ask ${host} for versions: its answer is not a registry's`);
    return released;
  } catch (thrown) {
    if (thrown instanceof CommandError) throw thrown;
    throw new CommandError(`Cannot ask ${host} for versions: ${whyUnreached(thrown, host).message}`);
  }
}

/** Only a finished version counts, not one for trials. Absent if the text is something else. */
function releasedBy(text: string): Released | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(read) || !isJsonObject(read["dist-tags"]) || !isJsonObject(read.versions)) return undefined;
  const { latest } = read["dist-tags"];
  const isFinished = typeof latest === "string" && /^\d{1,9}\.\d{1,9}\.\d{1,9}$/.test(latest);
  return { ...(isFinished && { newest: latest }), hasThis: Object.hasOwn(read.versions, manifest.version) };
}
