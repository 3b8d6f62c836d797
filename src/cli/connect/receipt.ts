/** What was changed in a client's files, kept so that it can be taken back. */
import type { SettingsFile } from "../../contract/client.ts";
import { builtin } from "../../util/builtin.ts";
import { readFile, writeFile } from "./files.ts";
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

/** Nothing where the client is not connected.  Throws where there is one that is broken. */
export function readReceipt({ folder, os }: Records, client: string): Receipt | undefined {
  const path = receiptPath(folder, client, os);
  const found = readFile(path);
  if (!found) return undefined;
  try {
    const receipt: Receipt = JSON.parse(found.text);
    if (receipt.version === 1 && Array.isArray(receipt.files)) return receipt;
  } catch {
    // said below
  }
  throw new Error(`Cannot read the receipt ${path}`);
}

export function writeReceipt({ folder, os }: Records, receipt: Receipt): void {
  writeFile(receiptPath(folder, receipt.client, os), JSON.stringify(receipt, null, 2));
}

export function removeReceipt({ folder, os }: Records, client: string): void {
  builtin("node:fs").rmSync(receiptPath(folder, client, os), { force: true });
}
