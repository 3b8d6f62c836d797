#!/usr/bin/env node
// deno-lint-ignore-file no-console -- this is a command line
/** The command of the npm package. An old Node could not even read the program, so it is loaded last. */
import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 9)) {
  console.error(`Laneway needs Node.js 24.9 or later, and this is ${process.versions.node}`);
  process.exit(1);
}
process.env.LANEWAY_COMMAND ||= "npx laneway";
if (process.argv[2] === "start") process.argv.splice(2, 1);
const [first = "--port"] = process.argv.slice(2);
const starts = first.startsWith("-") && !/^(-h|--help|--version)$/.test(first);
const hasDeno = process.env.PATH?.split(delimiter).some((folder) => existsSync(join(folder, "deno")));
if (starts && hasDeno && process.stderr.isTTY) {
  console.error("Deno is on this machine, and can confine which hosts Laneway calls, too:");
  console.error(`  eval deno run "$(npx laneway permissions)" ${join(import.meta.dirname, "main.js")}\n`);
}
const { start } = await import("./node.js");
await start(realpathSync(import.meta.filename));
