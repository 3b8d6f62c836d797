/** What is loaded before the first request is answered: each module takes a tenth of a millisecond of the start. */
import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);
/** Modules of our own, and a little more. Whoever raises it has found that no module can wait (`import()`), or be left out. */
const MOST_MODULES = 455;
/** The launcher imports only what imports nothing: no dependency runs with its permissions. */
const LAUNCHER = [
  "cli/arguments.ts",
  "cli/cached.ts",
  "cli/hang_up.ts",
  "cli/health_url.ts",
  "cli/launch.ts",
  "cli/npm_ancestor.ts",
  "cli/processes.ts",
  "cli/telemetry.ts",
  "cli/terminal.ts",
  "config/permissions.ts",
  "config/redis_url.ts",
  "config/store_kinds.ts",
  "platform/host.ts",
];

interface Module {
  specifier: string;
  dependencies?: { isDynamic?: boolean; code?: { specifier?: string } }[];
}

/** The modules that are loaded with `entry`, as Deno finds them: without types, and without what is imported when it is needed. */
async function loadedWith(entry: string): Promise<string[]> {
  const args = ["info", "--json", new URL(entry, ROOT).href];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stderr: "inherit" }).output();
  const { roots, modules }: { roots: string[]; modules: Module[] } = JSON.parse(new TextDecoder().decode(stdout));
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const found = new Set(roots);
  for (const specifier of found) {
    for (const { isDynamic, code } of known.get(specifier)?.dependencies ?? []) {
      if (!isDynamic && code?.specifier) found.add(code.specifier);
    }
  }
  return [...found];
}

Deno.test("start: the program loads no more modules than it is known to, none of Node's, and two packages", async () => {
  const loaded = await loadedWith("src/main.ts");
  const own = loaded.filter((specifier) => specifier.startsWith("file:"));
  assert(own.length > 300, `Only ${own.length} modules were found`);
  assert(own.length <= MOST_MODULES, `${own.length} modules are loaded at the start`);
  assertEquals(loaded.filter((specifier) => specifier.startsWith("node:")), []);
  const packages = loaded.filter((specifier) => specifier.startsWith("npm:"));
  assertEquals(packages.map((specifier) => specifier.replace(/^npm:\/?|@[\d.]+$/g, "")).sort(), [
    "eventsource-parser",
    "zod",
  ]);
});

Deno.test("start: the launcher loads its own few modules", async () => {
  const loaded = await loadedWith("src/cli/launch.ts");
  const own = loaded.map((specifier) => specifier.replace(new URL("src/", ROOT).href, "")).sort();
  assertEquals(own, [...LAUNCHER, "platform/store_path.ts", "util/config_text.ts", "util/printable.ts"].sort());
});

Deno.test("start: what speaks to a provider is loaded by a login, not by a token", async () => {
  const library = (specifier: string) => /^npm:\/?oauth4webapi@/.test(specifier);
  assertEquals((await loadedWith("src/compose/oidc.ts")).filter(library), []);
  assertEquals((await loadedWith("src/http/oidc_login.ts")).filter(library).length, 1);
});

/** Prints who asks for `process`, on which all modules of Node's stand, up to the first answer. */
const FIRST_ANSWER = `
  const { process } = globalThis;
  const asked = [];
  // As in a process that uses little memory: this one sometimes has enough for the limit to be read.
  const { memoryUsage } = Deno;
  Deno.memoryUsage = () => ({ ...memoryUsage(), rss: 2 ** 26 });
  Object.defineProperty(globalThis, "process", {
    get() {
      asked.push(new Error().stack.split("\\n").slice(2, 5).join(" "));
      return process;
    },
  });
  await import("${new URL("src/cli/run.ts", ROOT)}");
  const { createApp, readConfig } = await import("${new URL("src/app.ts", ROOT)}");
  const app = createApp({ config: readConfig("gateway.default.json"), log() {} });
  const body = JSON.stringify({ model: "sandbox", messages: [{ role: "user", content: "Hello" }] });
  const headers = { "content-type": "application/json" };
  const url = "http://127.0.0.1/oss/v1/chat/completions";
  const response = await app.fetch(new Request(url, { method: "POST", headers, body }));
  console.log(JSON.stringify({ status: response.status, asked }));
`;

Deno.test("start: the first answer needs no module of Node's, which would take a fifth of the start", async () => {
  const args = ["eval", "--no-lock", FIRST_ANSWER];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stderr: "inherit" }).output();
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), { status: 200, asked: [] });
});
