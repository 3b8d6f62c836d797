/** What was changed in a client's files, kept so that it can be taken back. */
import type { SettingsFile } from "../../contract/client.ts";
import { builtin } from "../../util/builtin.ts";
import { readFile, writeFile } from "./files.ts";
import { FormatError } from "./formats/format.ts";
import { FORMATS } from "./formats/mod.ts";
import { receiptPath } from "./machine.ts";

export interface Receipt {
  version: 1;
  client: string;
  /** Where the client was connected to, for people. */
  to: string;
  files: ChangedFile[];
}

export interface ChangedFile extends SettingsFile {
  /** Its whole text before; nothing where it was not there. */
  before?: string;
  after: string;
  /** The folders that were made for it, the outermost first. */
  folders: string[];
}

/** Where receipts are kept. */
export interface Records {
  folder: string;
  os: string;
}

/** Nothing where the client is not connected. Throws `FormatError` where there is one that is broken. */
export function readReceipt({ folder, os }: Records, client: string): Receipt | undefined {
  const path = receiptPath(folder, client, os);
  const found = readFile(path);
  if (!found) return undefined;
  try {
    const receipt: Receipt = JSON.parse(found.text);
    if (receipt.version === 1 && receipt.client === client && receipt.files.every(isChangedFile)) return receipt;
  } catch {
    // said below
  }
  throw new FormatError(`The receipt ${path} is damaged: restore the settings by hand, and delete it`);
}

function isChangedFile({ path, format, settings, before = "", after, folders }: ChangedFile): boolean {
  const texts: unknown[] = [path, before, after, ...folders];
  return texts.every((text) => typeof text === "string") && Object.hasOwn(FORMATS, format) && Array.isArray(settings);
}

export function writeReceipt({ folder, os }: Records, receipt: Receipt): void {
  writeFile(receiptPath(folder, receipt.client, os), JSON.stringify(receipt, null, 2));
}

export function removeReceipt({ folder, os }: Records, client: string): void {
  builtin("node:fs").rmSync(receiptPath(folder, client, os), { force: true });
}
