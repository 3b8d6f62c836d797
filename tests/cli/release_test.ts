/** The executables that are published, and the bundle in them. */
import { assert, assertEquals } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { bundle, LAUNCHED, withoutComments } from "../../src/cli/release/bundle.ts";
import { RARELY } from "../reliability/scale.ts";
import { withFolder } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);
const MB = 1_000_000;
const PACKAGES = [
  "@huggingface/jinja",
  "@huggingface/tokenizers",
  "deno-std",
  "eventsource-parser",
  "@redis/client",
  "zod",
];

/** Builds for this machine. The runtime that would be downloaded is stood in for by Deno's own program, which is larger. */
async function release(folder: string): Promise<string> {
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "release", "--out", folder, "--npm", "--binaries", Deno.build.target],
    cwd: ROOT,
    env: { DENORT_BIN: Deno.execPath(), NO_COLOR: "1" },
  }).output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(success, printed);
  return printed;
}

const EXECUTABLE =
  "release: an executable holds the program alone, and it and the package for npm are the same each time, with their checksums";

Deno.test(EXECUTABLE + RARELY.why, { ignore: RARELY.ignore }, async () => {
  await withFolder(async (folder) => {
    const printed = await release(`${folder}/first`);
    const embedded = [...printed.matchAll(/^[│ ]*[├└]─[─┬] (\S+)/gm)].map(([, path]) => path!);
    assert(embedded.includes("gateway.default.json"), printed);
    assertEquals(embedded.filter((path) => !/\.js$|^(deno|gateway\.default)\.json$|^tokens\//.test(path)), []);

    const name = `laneway-${manifest.version}-${Deno.build.target}`;
    const { size } = await Deno.stat(`${folder}/first/${name}`);
    const runtime = (await Deno.stat(Deno.execPath())).size;
    assert(size - runtime < 10.8 * MB, `${size - runtime} bytes are embedded`);
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

Deno.test("release: the bundle is the whole program, and loads late what the program loads late", async () => {
  await withFolder(async (folder) => {
    const sources = await bundle(folder, LAUNCHED);
    assertEquals(
      sources.filter((path) => !/^(src|plugins|node_modules)\/|^(deno|gateway\.default)\.json$/.test(path)),
      [],
    );
    for (const name of PACKAGES) assert(sources.some((path) => path.includes(`/node_modules/${name}/`)), name);
    const base = "http://127.0.0.1:1";
    const run = async (...args: string[]) => {
      const options = { args: ["run", "--allow-all", "main.js", ...args], cwd: folder, env: { XDG_DATA_HOME: folder } };
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), options).output();
      return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
    };
    assertEquals(await run("--version"), { code: 0, said: `${manifest.version}\n` });
    const checked = await run("doctor", "--lane", "oss", "--model", "sandbox");
    assert(/ok +model "sandbox"/.test(checked.said), checked.said);
    const refused = await run("check", base, "--model", "m");
    assertEquals(refused.code, 1, refused.said);

    // Each file is there, also those that are loaded later than in these commands.
    const early = new Map<string, number>();
    for (const name of ["main.js", "launch.js", "tokens/worker.js", "cli/keeper.js", "fetcher/main.js"]) {
      const args = ["info", "--json", name];
      const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: folder }).output();
      const { modules }: { modules: Module[] } = JSON.parse(new TextDecoder().decode(stdout));
      assertEquals(modules.filter(({ error }) => error), [], name);
      if (name !== "main.js") continue;
      const visit = (specifier: string) => {
        const found = modules.find((one) => one.specifier === specifier);
        if (!found?.size || early.has(specifier)) return;
        early.set(specifier, found.size);
        for (const { code, isDynamic } of found.dependencies ?? []) if (!isDynamic) visit(code!.specifier!);
      };
      visit(`file://${folder}/main.js`);
      assert(modules.length > 200, `${modules.length} modules`);
    }
    assert(early.size > 50);
    assertEquals([...early.keys()].filter((path) => /price_library|keeper/.test(path)), []);
    const bytes = [...early.values()].reduce((sum, size) => sum + size, 0);
    assert(bytes < 2.6 * MB, `${bytes} bytes are loaded at the start`);
  });
});

/** A module in the output of `deno info`. */
interface Module {
  specifier: string;
  size?: number;
  error?: string;
  dependencies?: { code?: { specifier?: string }; isDynamic?: boolean }[];
}

Deno.test("release: without its comments, the console has the same texts, code, styles and licences", async () => {
  let [saved, notices] = [0, 0];
  for (const path of await consoleFiles(new URL("src/console/", ROOT))) {
    const text = await Deno.readTextFile(path);
    const left = withoutComments(text);
    saved += text.length - left.length;
    assertEquals(noticesIn(left), noticesIn(text), path.pathname);
    notices += noticesIn(left).length;
    if (path.pathname.endsWith(".css")) {
      assertEquals(rulesIn(left), rulesIn(text), path.pathname);
      continue;
    }
    const code = codeIn(text);
    assertEquals(codeIn(left), code, path.pathname);
    assert(code.kinds.get("Program") === 1, path.pathname);
  }
  assert(saved > 100_000 && notices > 0, `${saved}, ${notices}`);
});

async function consoleFiles(folder: URL): Promise<URL[]> {
  const found: URL[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await consoleFiles(new URL(`${name}/`, folder)));
    else if (/\.(js|css)$/.test(name)) found.push(new URL(name, folder));
  }
  return found;
}

/** Licences have to be in every copy of their works. */
function noticesIn(source: string): string[] {
  return source.match(/Copyright \(c\)[^.]*/g) ?? [];
}

/** A style sheet without spaces and comments, of which it has one kind only. */
function rulesIn(source: string): string {
  return source.replace(/\/\*[^]*?\*\//g, "").replace(/\s+/g, "");
}

/** All texts of a module, and how often each kind of its other parts occurs. */
function codeIn(source: string): { texts: unknown[]; kinds: Map<string, number> } {
  const texts: unknown[] = [];
  const kinds = new Map<string, number>();
  const see = (node: { type: string; raw?: unknown; value?: unknown }) => {
    if (node.type === "Literal" || node.type === "TemplateElement") texts.push(node.raw);
    kinds.set(node.type, (kinds.get(node.type) ?? 0) + 1);
  };
  Deno.lint.runPlugin(
    { name: "see", rules: { all: { create: () => ({ "*": see }) } } } as Deno.lint.Plugin,
    "file.js",
    source,
  );
  return { texts, kinds };
}
