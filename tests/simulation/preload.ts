/**
 * Loads what the gateway would load when it first needs it: the first time takes as long as the disk does, and worlds would differ by
 * that. Makes what a process makes at the first need by chance, too.
 */
import { jsonAround } from "../../src/canonical/json_around.ts";
import { parseExactly } from "../../src/canonical/raw_number.ts";

const ROOT = new URL("../../", import.meta.url);
/** Programs of their own, and what runs on a thread or another platform. */
const OTHERS =
  /^(src\/(cli|programs|fetcher|interpreter|console|pages\/console|main|node|app)|plugins\/programs)\b|\/(worker|node_\w+|platform\/\w*thread\w*)\.ts$/;

function* modulesBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, ROOT))) {
    if (isDirectory) yield* modulesBelow(`${folder}${name}/`);
    else if (/(?<!\.d)\.ts$/.test(name)) yield `${folder}${name}`;
  }
}

const modules = [...modulesBelow("src/"), ...modulesBelow("plugins/")].filter((path) => !OTHERS.test(path)).sort();
await Promise.all(modules.map((path) => import(new URL(path, ROOT).href)));

jsonAround((text) => text);
parseExactly("[12345678901234567890]");
