/** Records the changes of a client's files, so that they can be taken back. */
import type { SettingsFile } from "../../contract/client.ts";
import { builtin } from "../../util/builtin.ts";
import { readFile, writeFile } from "./files.ts";
import { FormatError } from "./formats/format.ts";
import { FORMATS } from "./formats/mod.ts";
import { receiptPath } from "./machine.ts";

export interface Receipt {
  version: 1;
  client: string;
  /** The gateway that the client was connected to, in words. */
  to: string;
  files: ChangedFile[];
}

export interface ChangedFile extends SettingsFile {
  /** Its whole text before. Absent if there was no file. */
  before?: string;
  after: string;
  /** The folders that were created for it, the outermost first. */
  folders: string[];
}

/** The place where receipts are kept. */
export interface Records {
  folder: string;
  os: string;
}

/** Absent if the client is not connected. Throws `FormatError` if the receipt is damaged. */
export function readReceipt({ folder, os }: Records, client: string): Receipt | undefined {
  const path = receiptPath(folder, client, os);
  const found = readFile(path);
  if (!found) return undefined;
  try {
    const receipt: Receipt = JSON.parse(found.text);
    if (receipt.version === 1 && receipt.client === client && receipt.files.every(isChangedFile)) return receipt;
  } catch {
    // reported below
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
