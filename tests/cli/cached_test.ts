/** What the launcher takes for a whole cache, without asking Deno. */
import { assertEquals } from "@std/assert";
import { withFolder } from "../support/process.ts";

const MODULE = new URL("../../src/cli/cached.ts", import.meta.url).href;
const LOCK = { npm: { "zod@4.6.7": {}, "@huggingface/jinja@0.5.11": {} } };

/** What it says of `lock` where the cache is at `cache`, by the permissions of the launcher. */
async function answer(cache: string, lock: unknown, env: Record<string, string> = {}): Promise<string> {
  const program = `${cache}/ask.ts`;
  await Deno.writeTextFile(
    program,
    `import { arePackagesThere } from "${MODULE}"; console.log(arePackagesThere(${JSON.stringify(lock)}));`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--allow-read", "--allow-env", program],
    cwd: cache,
    env: { HOME: cache, ...env, DENO_DIR: cache },
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("launcher: a cache is whole where it has every package that the lock names", async () => {
  await withFolder(async (cache) => {
    await Deno.mkdir(`${cache}/npm/registry.npmjs.org/zod/4.6.7`, { recursive: true });
    assertEquals(await answer(cache, LOCK), "false");
    await Deno.mkdir(`${cache}/npm/registry.npmjs.org/@huggingface/jinja/0.5.11`, { recursive: true });
    assertEquals(await answer(cache, LOCK), "true");
    assertEquals(await answer(cache, { npm: { ...LOCK.npm, "zod@4.6.8": {} } }), "false");
    assertEquals(await answer(cache, { npm: { "@huggingface/jinja@0.5.11_@org+peer@1.0.0_zod@4.6.7": {} } }), "true");
    assertEquals(await answer(cache, { npm: { "@huggingface/jinja@0.5.12_zod@4.6.7": {} } }), "false");
  });
});

Deno.test("launcher: where packages may be elsewhere, or others are needed, Deno is asked", async () => {
  await withFolder(async (cache) => {
    await Deno.mkdir(`${cache}/npm/registry.npmjs.org/zod/4.6.7`, { recursive: true });
    const npm = { "zod@4.6.7": {} };
    assertEquals(await answer(cache, { npm }), "true");
    assertEquals(await answer(cache, { npm }, { NPM_CONFIG_REGISTRY: "https://npm.example" }), "false");
    assertEquals(await answer(cache, { npm, jsr: { "@std/http@1": {} } }), "false");
    assertEquals(await answer(cache, { npm, remote: { "https://example.com/a.ts": "x" } }), "false");
    assertEquals(await answer(cache, undefined), "false");
    await Deno.writeTextFile(`${cache}/.npmrc`, "fund=false\nregistry=https://npm.example\n");
    assertEquals(await answer(cache, { npm }), "false");
  });
});
