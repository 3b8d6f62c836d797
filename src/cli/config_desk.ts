/** Reads, checks and replaces the configuration's file for operators who change it at the console. */
import type { App } from "../app.ts";
import { ConfigError, type LoadedConfig } from "../config/load.ts";
import type { Problem } from "../config/check.ts";
import { editedFiles } from "../config/permissions.ts";
import type { Config } from "../config/schema.ts";
import type { Applied, Checked, ConfigurationDesk, ConfigurationFile } from "../context/console.ts";
import { changeOf } from "../observe/audit.ts";
import type { Platform } from "../platform/platform.ts";
import { builtin } from "../util/builtin.ts";
import { digestOf } from "../util/digest.ts";
import { DraftTakenError, writeDraft } from "../util/draft.ts";
import { runSliced, type SlicedWork } from "../util/sliced_work.ts";
import { permittedSecrets, reload } from "./reload.ts";

export interface ConfigDeskOptions extends Pick<LoadedConfig, "file" | "source"> {
  /** Only tests of upstreams need all of it. */
  platform: Pick<Platform, "env" | "os" | "isGranted"> & Partial<Platform>;
  /** Loads the configuration from the text that `readText` returns. Throws a `ConfigError`. */
  load(env: Platform["env"], readText?: Platform["readText"], secretText?: Platform["readText"]): LoadedConfig;
  running: { app(): Pick<App, "audit">; config(): Config; reload(isQuiet: boolean, by: string): void };
}

const OFF = 'To change it here, set "console": { "edit": true } in it and restart the gateway. It may then ' +
  "write this file, and no other.";
const NOT_YET = "To change it here, restart the gateway: it was not started with the permission to write the file.";
const LINK = "It cannot be changed here, because it is a link to another file.";
const READ_ONLY = "It cannot be changed here, because the file is read-only.";
const NOT_UTF8 = "it is not in UTF-8";
const BUILT_IN = "It cannot be changed here, because the gateway uses the built-in configuration: there is no file.";
const CHANGED = "The file has changed in the meantime: load it, and make your change again.";
const ONLY_LOCAL =
  "Without keys only the gateway's own machine may call, at a local address: the console will not open for you, nor will " +
  "the gateway answer any client from elsewhere or behind a proxy";

export function createConfigDesk(options: ConfigDeskOptions): ConfigurationDesk {
  const { file, source } = options;
  let last: { version: string; change: ConfigurationFile["last"] } | undefined;
  const forms = () => import("./edit_desk.ts");
  return {
    check: async (text, { isLocal }) => await runSliced(checkText(text, options, isLocal)),
    read() {
      const found = file === undefined ? { source, why: BUILT_IN } : readDesk(file, options);
      return last && last.version === found.version ? { ...found, last: last.change } : found;
    },
    waits: async (text) => await runSliced(whyWaiting(text, options)),
    edited: async (text, edits) => (await forms()).editedText(text, edits),
    entries: async (text) => (await forms()).entriesOf(text),
    test: async (upstream) =>
      await (await forms()).testUpstream(upstream, file ?? "gateway.json", options.platform as Platform),
    async apply(text, { version, atRestart, by, title = "The file was changed" }) {
      const { why } = file === undefined ? { why: BUILT_IN } : readDesk(file, options);
      if (why !== undefined) return { outcome: "failed", message: why };
      const checked = await runSliced(checkText(text, options));
      if ("problems" in checked) {
        return { outcome: "wrong", message: new ConfigError(source, checked.problems).message };
      }
      const { restart } = checked;
      if (restart !== undefined && !atRestart) return { outcome: "restart", message: restart };
      // Saving the same text again must not overwrite the former version.
      const isNew = digestOf(text) !== version;
      const failure = isNew ? replace(file!, text, version) : undefined;
      if (failure) return failure;
      const { running } = options;
      const time = new Date().toISOString();
      if (isNew) last = { version: digestOf(text), change: { title, by, time } };
      if (restart === undefined) return serveBy(file!, isNew, () => running.reload(true, by));
      running.app().audit?.write({ event: "configuration saved", by });
      return { outcome: "saved" };
    },
  };
}

/** Reloads the configuration. A file that the gateway cannot use is taken back, because the next start would fail with it. */
function serveBy(file: string, isNew: boolean, reload: () => void): Applied {
  try {
    reload();
    return { outcome: "applied" };
  } catch (error) {
    const [, , former] = editedFiles(file);
    if (isNew) builtin("node:fs").renameSync(former, file);
    return { outcome: "failed", message: `The gateway keeps the running configuration: ${(error as Error).message}` };
  }
}

function readDesk(file: string, options: ConfigDeskOptions): ConfigurationFile {
  const { source } = options;
  let text: string;
  try {
    text = readText(file);
  } catch (error) {
    return { source, why: `It cannot be read: ${(error as Error).message}` };
  }
  return {
    source,
    text,
    version: digestOf(text),
    former: formerOf(file, options),
    why: whyFixed(file, options),
  };
}

/** Why the file cannot be changed. The permission to write it is decided at the start. */
function whyFixed(file: string, { running, platform: { isGranted } }: ConfigDeskOptions): string | undefined {
  const { console } = running.config();
  if (!console || !console.edit) return OFF;
  if (!editedFiles(file).every((path) => isGranted({ name: "write", path }) && isGranted({ name: "read", path }))) {
    return NOT_YET;
  }
  const found = builtin("node:fs").lstatSync(file);
  if (found.isSymbolicLink()) return LINK;
  // A read-only file could still be replaced if its folder is writable.
  return (found.mode & 0o222) === 0 ? READ_ONLY : undefined;
}

function formerOf(file: string, { platform: { isGranted } }: ConfigDeskOptions): string | undefined {
  const [, , path] = editedFiles(file);
  try {
    return isGranted({ name: "read", path }) ? readText(path) : undefined;
  } catch {
    return undefined;
  }
}

/** Why the gateway does not serve by this text yet. Absent if it does. */
function* whyWaiting(text: string, options: ConfigDeskOptions): SlicedWork<string | undefined> {
  const read = yield* orProblems(readChange(text, options));
  if ("problems" in read) return "It has errors: the gateway keeps the previous configuration.";
  return read.restart;
}

/** `isLocal`: whether the operator's own request would be served without a key, if the configuration has no keys. */
function checkText(text: string, options: ConfigDeskOptions, isLocal = true): SlicedWork<Checked> {
  return orProblems(checkChange(text, options, isLocal));
}

function* checkChange(text: string, options: ConfigDeskOptions, isLocal: boolean): SlicedWork<Checked> {
  const { config, ...more } = yield* readChange(text, options);
  const { paths } = changeOf(options.running.config(), config);
  return { paths, ...more, warning: warningOf(config, isLocal) };
}

/** Throws a `ConfigError`. */
function* readChange(
  text: string,
  { load, platform, running }: ConfigDeskOptions,
): SlicedWork<{ config: Config; restart?: string }> {
  const { env, secretText } = permittedSecrets(platform);
  const { config } = load(env, () => text, secretText);
  yield;
  const next = reload(running.config(), { load: () => ({ config }), platform });
  yield;
  return { config, ...("kept" in next && { restart: next.kept }) };
}

function* orProblems<T>(work: SlicedWork<T>): SlicedWork<T | { problems: readonly Problem[] }> {
  try {
    return yield* work;
  } catch (error) {
    yield;
    if (error instanceof ConfigError) return { problems: error.problems };
    if (error instanceof RangeError) return { problems: [{ path: "", message: "It is nested too deeply" }] };
    throw error;
  }
}

/** The warning about a change that operators cannot take back at the console. */
function warningOf({ console, keys, storedKeys, oidc }: Config, isLocal: boolean): string | undefined {
  if (console === false) return "The console will be turned off";
  if (!console?.edit) return "The console will no longer be able to change the configuration";
  if (keys.length === 0 && !storedKeys && oidc === undefined) return isLocal ? undefined : ONLY_LOCAL;
  const opensByKey = keys.some(({ operator, expires }) =>
    operator && (expires === undefined || Date.parse(expires) > Date.now())
  );
  const opensByGroup = oidc?.console !== undefined && oidc.groups.some(({ operator }) => operator);
  if (opensByKey || opensByGroup) return undefined;
  return storedKeys
    ? "Only an operator's stored key will open the console"
    : "No operator will be able to log in to the console";
}

/** The exact text, so that it is unchanged when it is written again. */
function readText(path: string): string {
  const bytes = builtin("node:fs").readFileSync(path);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(NOT_UTF8);
  }
}

/**
 * Replaces the file atomically, with the same mode, and keeps the former text beside it. The draft file is a lock among all
 * processes. Returns the reason if the file was not replaced.
 */
function replace(file: string, text: string, version: string): Applied | undefined {
  const { renameSync, rmSync, writeFileSync } = builtin("node:fs");
  const [, draft, former] = editedFiles(file);
  try {
    writeDraft(draft, text, 0o600);
  } catch (error) {
    if (!(error instanceof DraftTakenError)) return failed(error);
    return { outcome: "conflict", message: "Another operator is saving it right now: load it again." };
  }
  try {
    giveRights(file, draft);
    // As late as possible, because an editor that changes the file itself takes no lock.
    const before = readText(file);
    if (digestOf(before) !== version) return { outcome: "conflict", message: CHANGED };
    rmSync(former, { force: true });
    writeFileSync(former, before, { mode: 0o600 });
    giveRights(file, former);
    renameSync(draft, file);
    return undefined;
  } catch (error) {
    return failed(error);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Gives a file the owner and the mode of another. Throws if that is not possible. */
function giveRights(from: string, to: string): void {
  const { chmodSync, chownSync, statSync } = builtin("node:fs");
  const { mode, uid, gid } = statSync(from);
  const own = statSync(to);
  if (own.uid !== uid) throw new Error("it belongs to another user than the gateway's");
  if (own.gid !== gid) chownSync(to, uid, gid);
  chmodSync(to, mode & 0o777);
}

function failed(error: unknown): Applied {
  return { outcome: "failed", message: `The file cannot be replaced: ${(error as Error).message}` };
}
