/** The executables that are published, and the sources in them. */
import { assert, assertEquals } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { UNUSED } from "../../src/cli/release/binaries.ts";
import { compact, copySources, withoutTypes } from "../../src/cli/release/sources.ts";
import { RARELY } from "../reliability/scale.ts";
import { withFolder } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);
const MB = 1_000_000;
const PACKAGES = ["@huggingface", "deno-std", "jinja", "tokenizers", "eventsource-parser", "@redis", "zod"];

/** Builds for this machine. The runtime that would be downloaded is stood in for by Deno's own program, which is larger. */
async function release(folder: string): Promise<string> {
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "release", "--out", folder, "--binaries", Deno.build.target],
    cwd: ROOT,
    env: { DENORT_BIN: Deno.execPath(), NO_COLOR: "1" },
  }).output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(success, printed);
  return printed;
}

const EXECUTABLE =
  "release: an executable holds the program alone, is the same each time, and has its checksum beside it";

Deno.test(EXECUTABLE + RARELY.why, { ignore: RARELY.ignore }, async () => {
  await withFolder(async (folder) => {
    const printed = await release(`${folder}/first`);
    const embedded = [...printed.matchAll(/^[│ ]*[├└]─[─┬] (\S+)/gm)].map(([, path]) => path!);
    assert(embedded.includes("gateway.default.json"), printed);
    const places = new Set(embedded.map((path) => path.split("/")[0]!).filter((path) => !path.endsWith(".ts")));
    const strange = [...places].filter((place) => /\btest|sdk|openai|anthropic/.test(place));
    assertEquals(strange, []);
    for (const name of PACKAGES) assert(places.has(name), name);

    const name = `laneway-${manifest.version}-${Deno.build.target}`;
    const { size } = await Deno.stat(`${folder}/first/${name}`);
    const runtime = (await Deno.stat(Deno.execPath())).size;
    assert(size - runtime < 11.5 * MB, `${size - runtime} bytes are embedded`);
    assert(size < 108 * MB, `${size} bytes`);

    const licences = await Deno.readTextFile(`${folder}/first/LICENSES.txt`);
    for (const name of ["zod", "yaml", "jose", "@opentelemetry/api", "@redis/client", "deno-std"]) {
      assert(licences.includes(`\n${name}/`), name);
    }
    assert(!embedded.some((path) => path.includes("LICENSE")), printed);

    await release(`${folder}/second`);
    const [first, second] = await Promise.all(
      ["first", "second"].map((place) => Deno.readTextFile(`${folder}/${place}/SHA256SUMS`)),
    );
    assertEquals(first, second);
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(`${folder}/first/${name}`));
    assert(first!.includes(`${new Uint8Array(digest).toHex()}  ${name}\n`), first);
  });
});

Deno.test("release: nothing of the standard library is left out that the program loads", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], cwd: ROOT }).output();
  const { npmCache }: { npmCache: string } = JSON.parse(new TextDecoder().decode(stdout));
  const loaded = new Set<string>();
  for (const folder of ["http", "streams"]) {
    for (const { name } of Deno.readDirSync(new URL(`src/std/${folder}/`, ROOT))) {
      const text = Deno.readTextFileSync(new URL(`src/std/${folder}/${name}`, ROOT));
      const [, path] = / from "deno-std\/(.*)";/.exec(text) ?? [];
      if (path) loaded.add(`${npmCache}/registry.npmjs.org/deno-std/1.4.0/${path}`);
    }
  }
  assert(loaded.size >= 5);
  for (const path of loaded) {
    assert(!UNUSED.some((pattern) => pattern.test(path)), path);
    for (const [, other] of Deno.readTextFileSync(path).matchAll(/^(?:import|export) .* from "(\..*)";$/gm)) {
      loaded.add(new URL(other!, `file://${path}`).pathname);
    }
  }
  assert([...loaded].some((path) => path.endsWith("/_negotiation/common.js")));
});

Deno.test("release: nothing of the packages of the console's pages is left out that a browser loads", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], cwd: ROOT }).output();
  const { npmCache }: { npmCache: string } = JSON.parse(new TextDecoder().decode(stdout));
  const loaded: Record<string, string[]> = {
    "@preact/signals": ["dist/signals.mjs"],
    "@preact/signals-core": ["dist/signals-core.mjs"],
    htm: ["dist/htm.mjs"],
    "node-diff3": ["dist/diff3.mjs"],
    preact: ["dist/preact.mjs", "hooks/dist/hooks.mjs"],
    uplot: ["dist/uPlot.iife.min.js", "dist/uPlot.min.css"],
  };
  for (const [name, files] of Object.entries(loaded)) {
    const version = (manifest.imports as Record<string, string>)[name]!.split("@").at(-1);
    for (const file of ["package.json", ...files]) {
      const path = `${npmCache}/registry.npmjs.org/${name}/${version}/${file}`;
      assert(Deno.statSync(path).isFile, path);
      assert(!UNUSED.some((pattern) => pattern.test(path)), path);
    }
  }
});

Deno.test("release: a source keeps its lines, its words and the white space of its templates", () => {
  const source = [
    "/** What",
    "    it is. */",
    "function one() {",
    "  const/* a word */two = `",
    "    three`; // four",
    "  return two;",
    "}",
  ].join("\n");
  const part = (from: string, to: string) => [source.indexOf(from), source.indexOf(to) + to.length] as const;
  const comments = [part("/** What", "is. */"), part("/* a", "word */"), part("// four", "four")];
  const compacted = compact(new TextEncoder().encode(source), { comments, templates: [part("`", "three`")] });
  assertEquals(compacted.split("\n"), [
    "",
    "",
    "function one() {",
    "const two = `",
    "    three`; ",
    "return two;",
    "}",
  ]);
});

Deno.test("release: types are gone from the sources, their lines and the ends of texts stay, and modules name each other", () => {
  const source = [
    'import { a } from "./a.ts";',
    "interface Gone {",
    "  x: number;",
    "}",
    "const text = `two  ",
    "  ends`;",
    'export const load = async (x: Gone): Promise<unknown> => [x, text, a, await import("../b/c.ts"), "./d.ts"];',
  ].join("\n");
  const code = withoutTypes(source);
  assertEquals(code.replace(/ {2,}/g, (spaces) => spaces === "  " ? spaces : " ").split("\n"), [
    'import { a } from "./a.js";',
    "",
    "",
    "",
    "const text = `two  ",
    "  ends`;",
    'export const load = async (x ) => [x, text, a, await import("../b/c.js"), "./d.ts"];',
  ]);
});

Deno.test("release: the sources as JavaScript are the whole program", async () => {
  await withFolder(async (folder) => {
    await copySources(folder);
    const base = "http://127.0.0.1:1";
    const run = async (...args: string[]) => {
      const options = {
        args: ["run", "--allow-all", "src/main.js", ...args],
        cwd: folder,
        env: { XDG_DATA_HOME: folder },
      };
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), options).output();
      return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
    };
    assertEquals(await run("--version"), { code: 0, said: `${manifest.version}\n` });
    const checked = await run("doctor", "--lane", "oss", "--model", "sandbox");
    assert(/ok +model "sandbox"/.test(checked.said), checked.said);
    const refused = await run("check", base, "--model", "m");
    assertEquals(refused.code, 1, refused.said);
    // Each module is there, also those that are loaded later than in these commands.
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "src/main.js"],
      cwd: folder,
    }).output();
    const { modules } = JSON.parse(new TextDecoder().decode(stdout));
    const broken = modules.filter(({ error }: { error?: string }) => error);
    assertEquals(broken, [], new TextDecoder().decode(stderr));
    assert(modules.length > 500);
  });
});
