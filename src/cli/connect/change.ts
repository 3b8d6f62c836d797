/** The change of a client's files: planned, shown, made and taken back. */
import type { Client, ClientMachine, Connection, SettingsFile } from "../../contract/client.ts";
import { diffOf } from "./diff.ts";
import { withSettings } from "./edit.ts";
import { readFile, removeFile, writeFile } from "./files.ts";
import { inFile } from "./formats/format.ts";
import { type ChangedFile, readReceipt, type Records, removeReceipt, writeReceipt } from "./receipt.ts";
import { restore, restored } from "./undo.ts";

export interface Desk {
  machine: ClientMachine;
  records: Records;
  /** How long a client has for its turn, in milliseconds. */
  patienceMs: number;
  print(text: string): void;
}

interface PlannedFile {
  file: SettingsFile;
  /** Where it really is. */
  path: string;
  /** What stands in it; nothing where it is not there. */
  now?: string;
  /** The same without what an earlier connection has put there. */
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

/** Throws `FormatError` where a file is none that its client could read. */
export function planned(client: Client, connection: Connection, { machine, records }: Desk): Planned {
  const earlier = readReceipt(records, client.name);
  const files = (client.files?.(connection, machine) ?? []).map((file) => {
    const found = readFile(file.path);
    const path = found?.path ?? file.path;
    const old = earlier?.files.find((one) => one.path === path);
    const before = old ? restored(old).text : found?.text;
    const after = inFile(file.path, () => withSettings(before ?? "", file));
    return { file, path, now: found?.text, before, after, mode: found?.mode };
  });
  const to = `${connection.gateway}/${connection.lane}`;
  return { client, to, files, isChange: files.some(({ now, after }) => now !== after) };
}

/** Prints what is to change. A key is not shown. */
export function show({ files, isChange }: Planned, { print }: Desk, key: string | undefined): void {
  if (files.length > 0 && !isChange) print("Its settings say all of it already");
  for (const { path, now = "", after } of files) {
    if (now === after) continue;
    const diff = diffOf(path, now, after);
    print(key === undefined ? diff : diff.replaceAll(key, "***"));
  }
}

/** Writes the files. Returns what makes them what they were, an earlier connection of the same client included. */
export function applied({ client, to, files }: Planned, { records }: Desk): () => void {
  const earlier = readReceipt(records, client.name);
  const changed: ChangedFile[] = files.map(({ file, path, before, after }) => {
    const { folders = [] } = earlier?.files.find((one) => one.path === path) ?? {};
    return { ...file, path, before, after, folders };
  });
  // First the receipt: what is cut off in the middle can be taken back.
  const write = () => writeReceipt(records, { version: 1, client: client.name, to, files: changed });
  write();
  files.forEach(({ path, now, after, mode }, index) => {
    if (now === after) return;
    const made = writeFile(path, after, mode);
    if (made.length > 0) changed[index]!.folders = made;
    write();
  });
  return () => {
    files.forEach(({ path, now, after, mode }, index) => {
      if (now === undefined) removeFile(path, changed[index]!.folders);
      else if (now !== after) writeFile(path, now, mode);
    });
    if (earlier) writeReceipt(records, earlier);
    else removeReceipt(records, client.name);
  };
}

/** Takes a connection back. Returns the settings that were changed since, and stay. */
export function takenBack(client: Client, { records }: Desk): { path: string; names: string[] }[] {
  const files = (readReceipt(records, client.name)?.files ?? []).map(restored);
  files.forEach(restore);
  removeReceipt(records, client.name);
  return files.flatMap(({ file: { path }, left }) => left.length > 0 ? [{ path, names: left }] : []);
}
