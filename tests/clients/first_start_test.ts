/** The start on a machine that has never run Laneway: what it downloads, and that it needs no network afterwards. */
import { assertEquals, assertMatch } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);
const lock = JSON.parse(Deno.readTextFileSync(new URL("deno.lock", ROOT)));

async function run(task: string[], cache: string, env: Record<string, string> = {}) {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", ...task],
    cwd: ROOT,
    env: { ...env, DENO_DIR: cache, NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** The packages in Deno's cache whose code was downloaded, as `name@version`. */
async function packagesIn(cache: string): Promise<string[]> {
  const found: string[] = [];
  for await (const registry of Deno.readDir(`${cache}/npm`)) {
    if (registry.isDirectory) await collect(`${cache}/npm/${registry.name}`, "", found);
  }
  return found.sort();
}

async function collect(folder: string, scope: string, found: string[]): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    if (name.startsWith("@")) await collect(`${folder}/${name}`, `${name}/`, found);
    else {
      for await (const version of Deno.readDir(`${folder}/${name}`)) {
        if (version.isDirectory) found.push(`${scope}${name}@${version.name}`);
      }
    }
  }
}

const START = ["start", "--version"];
/** A package in the lock file has its peers in its name. */
const OWN = Object.keys(lock.npm).map((pin) => pin.replace(/_.*/, "")).sort();

Deno.test("the first start downloads the packages of the program alone, and a later one needs no network", async () => {
  const cache = await Deno.makeTempDir({ prefix: "laneway-first-" });
  try {
    const first = await run(START, cache);
    assertEquals([first.success, first.stdout.trim()], [true, "0.1.0"], first.stderr);
    assertMatch(first.stderr, /Download /);
    assertEquals(await packagesIn(cache), OWN);
    for (const page of ["README.md", "docs/install.md"]) {
      const text = await Deno.readTextFile(new URL(`../../${page}`, import.meta.url));
      assertMatch(text, new RegExp(`downloads (Deno and )?${OWN.length} packages`), page);
    }

    // Nothing listens there: whatever asks the network fails.
    const nowhere = "http://127.0.0.1:9";
    const offline = { HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, ALL_PROXY: nowhere, NO_PROXY: "" };
    const second = await run(START, cache, offline);
    assertEquals([second.success, second.stdout.trim()], [true, "0.1.0"], second.stderr);
    assertEquals(second.stderr.includes("Download "), false, second.stderr);

    await Deno.remove(`${cache}/npm/registry.npmjs.org/zod`, { recursive: true });
    const third = await run(START, cache);
    assertEquals([third.success, third.stdout.trim()], [true, "0.1.0"], third.stderr);
    assertEquals(third.stderr.includes("error"), false, third.stderr);
    assertEquals(await packagesIn(cache), OWN);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});

Deno.test("the fake hub needs no other packages", async () => {
  const cache = await Deno.makeTempDir({ prefix: "laneway-first-" });
  try {
    // It is loaded before it reads its options.
    const { stderr } = await run(["dev:hub", "--port"], cache);
    assertMatch(stderr, /--port/);
    assertEquals(await packagesIn(cache), OWN);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});
