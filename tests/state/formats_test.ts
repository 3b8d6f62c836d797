/** The stores of all released versions are read by this one, and the former version reads what this one writes. */
import { assert } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { isRedisMissing } from "../support/redis_server.ts";
import { HAS_KV } from "./file_stores.ts";
import { withFolder } from "../support/process.ts";
import { configFor, type Entry, type Facts, readAll, withProgram, writeAll } from "./formats/kept.ts";
import { ENTRY, FILE, type Kind, KINDS, withPlace } from "./formats/places.ts";

const ROOT = new URL("../../", import.meta.url);
const FORMATS = new URL("formats/", import.meta.url);
const versions = [...Deno.readDirSync(FORMATS)].filter(({ isDirectory }) => isDirectory).map(({ name }) => name).sort();

/** The tests' own packages are not for the program. */
const entryIn = (folder: string | URL, kind: Kind): Entry => ({
  args: ["run", "--allow-all", "--no-check", "--config", "deno.json", ENTRY[kind]],
  cwd: folder,
});

Deno.test("formats: this version has its fixtures", () => {
  assert(versions.includes(manifest.version), "run tests/state/formats/write.ts");
  const upgrades = Deno.readTextFileSync(new URL("docs/upgrade.md", ROOT));
  for (const version of versions) assert(upgrades.includes(`| ${version} `), `docs/upgrade.md lacks ${version}`);
});

for (const version of versions) {
  for (const kind of KINDS) {
    Deno.test({
      name: `formats: this version goes on with what ${version} has written to ${kind}${
        kind === "kv" && !HAS_KV ? " (skipped: Node has no Deno KV)" : ""
      }`,
      ignore: (kind === "redis" && isRedisMissing) || (kind === "kv" && !HAS_KV),
      fn: () =>
        withFolder((folder) =>
          withPlace(kind, folder, async ({ store, env, load }) => {
            const place = new URL(`${version}/`, FORMATS);
            await load(new URL(FILE[kind], place).pathname);
            const facts: Record<Kind, Facts> = JSON.parse(await Deno.readTextFile(new URL("facts.json", place)));
            await withProgram(entryIn(ROOT, kind), folder, configFor(store), env, async (running) => {
              await readAll(running, facts[kind]);
            });
          })
        ),
    });
  }
}

async function git(...args: string[]): Promise<string> {
  const { stdout, success } = await new Deno.Command("git", { args, cwd: ROOT, stderr: "null" }).output();
  return success ? new TextDecoder().decode(stdout).trim() : "";
}

/** The former version: the newest tag of a release, or the commit that `LANEWAY_FORMER` names. Empty if there is none. */
const former = await git("tag", "--list", "v*", "--sort=-v:refname").catch(() => "").then((tags) =>
  Deno.env.get("LANEWAY_FORMER") ?? tags.split("\n")[0]!
);
const noFormer = former === "" ? " (skipped: no release is tagged here)" : "";

/** Calls `use` with the folder of the former version. */
function withFormer(use: (folder: string) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const archive = `${folder}/former.tar`;
    const parts = ["src", "plugins", "deno.json", "deno.lock", "package.json", "gateway.default.json"];
    await git("archive", "--output", archive, former, ...parts);
    await Deno.mkdir(`${folder}/program/tests/state/formats`, { recursive: true });
    assert((await new Deno.Command("tar", { args: ["-xf", archive, "-C", `${folder}/program`] }).output()).success);
    await Deno.copyFile(new URL("on_sqlite.ts", FORMATS), `${folder}/program/${ENTRY.sqlite}`);
    await use(`${folder}/program`);
  });
}

for (const kind of KINDS) {
  Deno.test({
    name: `formats: the former version goes on with what this one writes to ${kind}${noFormer}`,
    ignore: noFormer !== "" || kind === "redis" && isRedisMissing,
    fn: () =>
      withFormer(async (program) => {
        const hasStore = await Deno.stat(`${program}/src/state/sqlite_store.ts`).then(() => true, () => false);
        // deno-lint-ignore no-console -- a test that is left out says why
        if (kind === "sqlite" && !hasStore) return console.warn(`skipped: ${former} has no store for Node`);
        await withFolder((folder) =>
          withPlace(kind, folder, async ({ store, env }) => {
            const config = configFor(store);
            let facts: Facts | undefined;
            await withProgram(entryIn(ROOT, kind), folder, config, env, async (running) => {
              facts = await writeAll(running);
            });
            await withProgram(entryIn(program, kind), folder, config, env, async (running) => {
              facts = await readAll(running, facts!);
            });
            // And forth again.
            await withProgram(entryIn(ROOT, kind), folder, config, env, async (running) => {
              await readAll(running, facts!);
            });
          })
        );
      }),
  });
}
