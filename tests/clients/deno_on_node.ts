/** As much of Deno as the laws need, on Node: loaded before them. The files are found that `tests/deno.json` maps a name to. */
import { readdirSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { after, test, type TestContext } from "node:test";
import manifest from "../deno.json" with { type: "json" };

const MAPPED = new Map(Object.entries<string>(manifest.imports));

registerHooks({
  resolve(specifier, context, next) {
    const mapped = MAPPED.get(specifier);
    return next(mapped?.startsWith(".") ? new URL(`../${mapped}`, import.meta.url).href : specifier, context);
  },
});

// Deno waits for what a module awaits; Node ends where only timers that keep nothing alive are left.
const waiting = setInterval(() => {}, 1_000);
after(() => clearInterval(waiting));

interface Step {
  step(name: string, run: () => unknown): Promise<unknown>;
}

type Run = (t: Step) => unknown;
type Options = { name: string; ignore?: boolean; fn: Run };

function define(first: string | Options, run?: Run): void {
  const { name, ignore = false, fn } = typeof first === "string" ? { name: first, fn: run! } : first;
  test(name, { skip: ignore }, async (context: TestContext) => {
    await fn({ step: (name, run) => context.test(name, async () => void await run()) });
  });
}

Object.assign(globalThis, {
  Deno: {
    build: { os: "linux" },
    env: { get: (name: string) => process.env[name] },
    test: define,
    memoryUsage: () => process.memoryUsage(),
    readTextFileSync: (path: string | URL) => readFileSync(path, "utf8"),
    readDirSync: (path: string | URL) =>
      readdirSync(path, { withFileTypes: true }).map((entry) => ({
        name: entry.name,
        isFile: entry.isFile(),
        isDirectory: entry.isDirectory(),
      })),
  },
});
