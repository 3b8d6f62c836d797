/**
 * Writes the fixtures of this version, which is done once for each release: `deno run --config tests/deno.json --allow-all
 * tests/state/formats/write.ts`. Those of other versions stay as they are.
 */
import manifest from "../../../deno.json" with { type: "json" };
import { withFolder } from "../../support/process.ts";
import { configFor, type Facts, withProgram, writeAll } from "./kept.ts";
import { ENTRY, FILE, KINDS, withPlace } from "./places.ts";

const ROOT = new URL("../../../", import.meta.url);
const target = new URL(`${manifest.version}/`, import.meta.url);

if (import.meta.main) {
  await Deno.mkdir(target, { recursive: true });
  const facts: Record<string, Facts> = {};
  for (const kind of KINDS) {
    await withFolder((folder) =>
      withPlace(kind, folder, async ({ store, env, save }) => {
        const entry = { args: ["run", "--allow-all", "--no-check", ENTRY[kind]], cwd: ROOT };
        await withProgram(entry, folder, configFor(store), env, async (running) => {
          facts[kind] = await writeAll(running);
        });
        await save(new URL(FILE[kind], target).pathname);
      })
    );
  }
  await Deno.writeTextFile(new URL("facts.json", target), JSON.stringify(facts, null, 2) + "\n");
}
