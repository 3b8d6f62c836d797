/** Changes a client's files: plans the change, shows it, makes it and takes it back. */
import { diffIndices } from "node-diff3";
import type { Client, ClientMachine, Connection, SettingsFile } from "../../contract/client.ts";
import { builtin } from "../../util/builtin.ts";
import { withSettings } from "./edit.ts";
import { readFile, writeFile } from "./files.ts";
import { FormatError, inFile } from "./formats/format.ts";
import { leadsTo } from "./machine.ts";
import { withoutKey, withoutSecrets } from "./mask.ts";
import { isOwnFile } from "./permissions.ts";
import { type ChangedFile, readReceipt, type Receipt, type Records, removeReceipt, writeReceipt } from "./receipt.ts";
import { restore, restored } from "./undo.ts";

export interface Desk {
  machine: ClientMachine;
  records: Records;
  /** How long a client has for its turn, in milliseconds. */
  patienceMs: number;
  /** How the user starts this program. */
  program: string;
  print(text: string): void;
  /** Waits until everything is written, because a question stops all else. */
  flush(): Promise<void>;
  /** Shows progress on a terminal while `run` runs. */
  during<T>(text: string, run: () => Promise<T>): Promise<T>;
}

interface PlannedFile {
  file: SettingsFile;
  /** The real path, with links resolved. */
  path: string;
  /** The present text. Absent if there is no file. */
  now?: string;
  /** The text without the settings of an earlier connection. */
  before?: string;
  after: string;
  mode?: number;
}

export interface Planned {
  client: Client;
  to: string;
  files: readonly PlannedFile[];
  isChange: boolean;
}

/** Throws `FormatError` if the client itself could not read one of its files, or is connected by a file of another name. */
export function planned(client: Client, connection: Connection, { machine, records }: Desk): Planned {
  const earlier = receiptOf(client, machine, records);
  const files = (client.files?.(connection, machine) ?? []).map((file) => {
    const found = readFile(file.path);
    const path = leadsTo(file.path);
    const old = earlier?.files.find((one) => one.path === path);
    const before = old ? restored(old).text : found?.text;
    const after = inFile(file.path, () => withSettings(before ?? "", file));
    return { file, path, now: found?.text, before, after, mode: found?.mode };
  });
  const lost = earlier?.files.find(({ path }) => files.length > 0 && files.every((one) => one.path !== path));
  if (lost && readFile(lost.path)) {
    throw new FormatError(`${client.title} is connected by ${lost.path}, which it would not be now: run --undo first`);
  }
  const to = `${connection.gateway}/${connection.lane}`;
  return { client, to, files, isChange: files.some(({ now, after }) => now !== after) };
}

/** Throws `FormatError` if the receipt names a file that is not the client's. */
function receiptOf(client: Client, machine: ClientMachine, records: Records): Receipt | undefined {
  const { existsSync } = builtin("node:fs");
  const receipt = readReceipt(records, client.name);
  for (const { path } of receipt?.files ?? []) {
    if (!existsSync(path) || isOwnFile(client, path, machine, leadsTo)) continue;
    throw new FormatError(
      `The receipt of ${client.title} names ${path}, which is not one of its files here: set the variables as they were then`,
    );
  }
  return receipt;
}

/** Prints the planned changes. No secret is shown, not even one that is already in the file. */
export function show({ files, isChange }: Planned, { print }: Desk, key: string | undefined): void {
  if (files.length > 0 && !isChange) print("Its settings are already up to date");
  for (const { path, now = "", after } of files) {
    if (now === after) continue;
    print(withoutSecrets(diffOf(path, now, after), key));
  }
}

const OWNER_WRITES = 0o200;
const OTHERS_READ = 0o044;

/** The files that would hold the key itself although other users of the machine may read them. */
export function openFiles({ files }: Planned, key: string | undefined): string[] {
  const isOpen = ({ after, mode = 0 }: PlannedFile) => (mode & OTHERS_READ) !== 0 && withoutKey(after, key) !== after;
  return files.filter(isOpen).map(({ path }) => path);
}

/**
 * Writes all files or none. Returns a function that restores them, including an earlier connection of the same client. Throws
 * `FormatError` if a file was changed since the plan was made.
 */
export function applied({ client, to, files }: Planned, { records }: Desk): () => void {
  const earlier = readReceipt(records, client.name);
  const changed: ChangedFile[] = files.map(({ file, path, before, after }) => {
    const { folders = [] } = earlier?.files.find((one) => one.path === path) ?? {};
    return { ...file, path, before, after, folders };
  });
  for (const { path, now, mode = OWNER_WRITES } of files) {
    if (readFile(path)?.text !== now) {
      throw new FormatError(`something else has written to ${path} in the meantime. Run connect again`);
    }
    if (!(mode & OWNER_WRITES)) throw new FormatError(`${path} is read-only`);
  }
  const takeBack = () => {
    // Changes by others since then stay.
    changed.map((file, index) => restored({ ...file, before: files[index]!.now })).forEach(restore);
    if (earlier) writeReceipt(records, earlier);
    else removeReceipt(records, client.name);
  };
  const receipt: Receipt = { version: 1, client: client.name, to, files: changed };
  const write = () => writeReceipt(records, receipt);
  // The receipt is written first, so that an interrupted change can be taken back.
  write();
  try {
    files.forEach(({ path, now, after, mode }, index) => {
      if (now === after) return;
      const made = writeFile(path, after, mode);
      if (made.length > 0) changed[index]!.folders = made;
      write();
    });
  } catch (error) {
    takeBack();
    throw error;
  }
  const written = JSON.stringify(receipt);
  return () => {
    // If another command has connected the client meanwhile, that command's receipt covers everything.
    if (JSON.stringify(readReceipt(records, client.name)) === written) takeBack();
  };
}

/** Takes a connection back. Returns the settings that were changed since then, which stay. */
export function takenBack(client: Client, { machine, records }: Desk): { path: string; names: string[] }[] {
  const files = (receiptOf(client, machine, records)?.files ?? []).map(restored);
  files.forEach(restore);
  removeReceipt(records, client.name);
  return files.flatMap(({ file: { path }, left }) => left.length > 0 ? [{ path, names: left }] : []);
}

/** How many lines are shown around a change. */
const AROUND = 2;

/** The changed lines with `-` or `+` before them, and some unchanged lines around them. */
export function diffOf(path: string, before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const lines = [before === "" ? `${path} (new)` : path];
  let shown = 0;
  for (const { buffer1: [at, length], buffer2: [to, count] } of diffIndices(old, now)) {
    const from = Math.max(shown, at - AROUND);
    if (from > shown) lines.push("  ...");
    lines.push(...old.slice(from, at).map((line) => `    ${line}`));
    lines.push(...old.slice(at, at + length).map((line) => `  - ${line}`));
    lines.push(...now.slice(to, to + count).map((line) => `  + ${line}`));
    shown = at + length;
  }
  const rest = old.slice(shown, shown + AROUND);
  lines.push(...rest.map((line) => `    ${line}`));
  if (shown + rest.length < old.length) lines.push("  ...");
  return lines.join("\n");
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
