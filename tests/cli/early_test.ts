/** What reaches a gateway while it starts: nothing of it is lost. */
import { assertEquals } from "@std/assert";
import { builtIn } from "../../src/app.ts";
import { serve } from "../../src/cli/serve.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { withFolder } from "../support/process.ts";
import { within } from "../support/wait.ts";

const CONFIG = {
  upstreams: { here: { driver: "sandbox" } },
  lanes: { oss: { upstreams: { chat: "here" } } },
  store: { kind: "memory" },
  stop: { noticeMs: 0 },
};

interface Rig {
  path: string;
  signals: Map<string, () => void>;
  /** Resolves once it has reported this. */
  reported(text: string): Promise<void>;
  /** Serves with this much of the platform in place of what a process has, and resolves to the exit code. */
  run(own: Partial<Platform>): Promise<number>;
}

async function withGateway(use: (rig: Rig) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/gateway.json`;
    await Deno.writeTextFile(path, JSON.stringify(CONFIG));
    const signals = new Map<string, () => void>();
    const waiting = new Map<string, () => void>();
    const say = (text: string) => [...waiting].forEach(([wanted, go]) => text.includes(wanted) && go());
    await use({
      path,
      signals,
      reported(text) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.set(text, resolve);
        return within(promise);
      },
      run(own) {
        const platform: Platform = {
          ...deno,
          onSignal(name, run) {
            signals.set(name, run);
            return () => signals.delete(name);
          },
          serve({ onListen }) {
            onListen({ hostname: "127.0.0.1", port: 8080 });
            return Promise.resolve({ shutdown: () => Promise.resolve() });
          },
          ...own,
        };
        const streams = { say, print: say, log() {}, warn() {}, flush: () => Promise.resolve() };
        return within(serve(path, {}, { platform, plugins: builtIn, streams }));
      },
    });
  });
}

/** What is left running ends with the process, which here goes on. */
function test(name: string, use: (rig: Rig) => Promise<void>): void {
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn: () => withGateway(use) });
}

for (const signal of ["SIGTERM", "SIGINT"]) {
  test(`serve: ${signal} that comes with the start-up message lets what runs come to its end`, async ({ signals, run }) => {
    const ended = Promise.withResolvers<void>();
    const code = run({
      serve({ onListen }) {
        onListen({ hostname: "127.0.0.1", port: 8080 });
        signals.get(signal)!();
        return Promise.resolve({ shutdown: () => ended.promise });
      },
    });
    ended.resolve();
    assertEquals(await code, 0);
  });
}

test("serve: a change of the configuration right after it was read is taken up", async ({ path, signals, reported, run }) => {
  const changed = { ...CONFIG, lanes: { ...CONFIG.lanes, second: CONFIG.lanes.oss } };
  let isChanged = false;
  const code = run({
    readText(file) {
      const text = deno.readText(file);
      if (!isChanged) {
        isChanged = true;
        Deno.writeTextFileSync(path, JSON.stringify(changed));
        Deno.utimeSync(path, 1_000, 1_000);
      }
      return text;
    },
  });
  await reported("Serving with the new configuration");
  signals.get("SIGTERM")!();
  assertEquals(await code, 0);
});
