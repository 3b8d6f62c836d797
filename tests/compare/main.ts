/**
 * Compares this checkout with another one, as two processes: what clients get and what upstreams are sent, byte by byte.
 *
 *     deno task compare <folder or git revision> [--seed=1] [--cases=3000] [--only=<part of the cases' names>]
 *
 * `--only=` takes a regular expression. Exits with 1 if anything differs.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { addEndpoints, addFixtures, CaseList } from "./cases.ts";
import { compare, type Difference } from "./compare.ts";
import { addFuzzed } from "./fuzz_cases.ts";
import { startSide } from "./gateways.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");
const MOST_KINDS = 30;

const { values, positionals: [other] } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    seed: { type: "string" },
    cases: { type: "string", default: "3000" },
    only: { type: "string", default: "" },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);

/** A folder with the other version. A revision is unpacked into one, which is removed at the end. */
async function checkOut(name: string, folder: string): Promise<string> {
  if (await Deno.stat(`${name}/deno.json`).then(({ isFile }) => isFile, () => false)) return await Deno.realPath(name);
  const script = 'git -C "$1" archive "$2" | tar -x -C "$3"';
  const args = ["-e", "-o", "pipefail", "-c", script, "compare", ROOT, name, folder];
  const { success, stderr } = await new Deno.Command("bash", { args, stderr: "piped" }).output();
  if (!success) throw new Error(`"${name}" is neither a checkout nor a revision: ${new TextDecoder().decode(stderr)}`);
  return folder;
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

async function main(other: string, folder: string): Promise<number> {
  const list = new CaseList(seed);
  addEndpoints(list);
  addFixtures(list);
  addFuzzed(list, Number(values.cases), seed);
  const only = new RegExp(values.only);
  const cases = list.cases.filter(({ name }) => only.test(name));
  say(
    `${cases.length} cases, --seed=${seed}. Not compared: /metrics and /status, which tell of time and memory; WebSockets`,
  );
  const old = await startSide(await checkOut(other, folder), list.pairs);
  const now = await startSide(ROOT, list.pairs);
  const kinds = new Map<string, Difference[]>();
  let done = 0;
  await compare(old, now, cases, (differences) => {
    if (++done % 2_000 === 0) say(`${done} done`);
    for (const one of differences) kinds.set(one.kind, [...kinds.get(one.kind) ?? [], one]);
  }).finally(() => Promise.all([old.close(), now.close()]));
  const sorted = [...kinds].sort(([, one], [, other]) => other.length - one.length);
  for (const [kind, [first, ...more]] of sorted.slice(0, MOST_KINDS)) {
    say(`\n${kind}: ${more.length + 1} times\n  in  ${first!.case}\n  old ${first!.old}\n  new ${first!.new}`);
  }
  if (sorted.length > MOST_KINDS) say(`\n${sorted.length - MOST_KINDS} more kinds`);
  const count = new Set(sorted.flatMap(([, all]) => all.map((one) => one.case))).size;
  say(count === 0 ? "No difference" : `\n${count} of ${cases.length} cases differ, --seed=${seed}`);
  return count === 0 ? 0 : 1;
}

if (other === undefined) {
  say("Usage: deno task compare <folder or git revision> [--seed=1] [--cases=3000] [--only=<regular expression>]");
  Deno.exit(2);
}
const folder = await Deno.makeTempDir();
const code = await main(other, folder).finally(() => Deno.remove(folder, { recursive: true }));
Deno.exit(code);
