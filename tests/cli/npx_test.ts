/** The gateway as the README starts it, by npx, under whatever starts and ends that. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { withFolder } from "../support/process.ts";
import { within } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);
const START = ["npx", "-y", `deno@${Deno.version.deno}`];

/** Why the chain cannot run here, if it cannot. */
async function obstacle(): Promise<string | undefined> {
  if (Deno.build.os === "windows") return "there is no SIGTERM";
  try {
    const [npx, ...args] = START;
    const { success, stderr } = await new Deno.Command(npx!, { args: [...args, "--version"] }).output();
    return success ? undefined : `npx cannot run Deno: ${new TextDecoder().decode(stderr).trim().split("\n").at(-1)}`;
  } catch (error) {
    return `there is no npx: ${(error as Error).message}`;
  }
}

const missing = await obstacle();
// deno-lint-ignore no-console -- whoever runs the tests is to know what they did not test
if (missing !== undefined) console.log(`Not tested: starting by npx, because ${missing}`);

/** How npx is started. Each tells its process id in its first line, and starts what follows as `"$@"`. */
const MANAGERS: Record<string, string> = {
  "started by itself": 'echo "pid=$$" >&2; exec "$@"',
  "in a session of its own": 'exec setsid -w sh -c \'echo "pid=$$" >&2; exec "$@"\' - "$@"',
  "under a manager that waits for it": '"$@" & echo "pid=$!" >&2; wait; exec sleep 1000 2>&-',
  "under a manager that never reaps it": '"$@" & echo "pid=$!" >&2; exec sleep 1000 2>&-',
  "before all names of its processes are known":
    'export TR=$(command -v tr) PATH="$SLOW:$PATH"; echo "pid=$$" >&2; exec "$@"',
};

interface Chain {
  /** Of npx. */
  pid: number;
  /** Resolves once nobody writes to stderr any more, which every process of the chain could. */
  over: Promise<void>;
  text(): string;
}

async function withChain(manager: string, use: (chain: Chain) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const config = { upstreams: { here: { driver: "sandbox" } }, lanes: { oss: { upstreams: { chat: "here" } } } };
    const path = `${folder}/gateway.json`;
    await Deno.writeTextFile(path, JSON.stringify({ ...config, store: { kind: "memory" } }));
    await Deno.writeTextFile(`${folder}/tr`, '#!/bin/sh\nsleep 0.5\nexec "$TR" "$@"\n', { mode: 0o755 });
    const child = new Deno.Command("sh", {
      args: ["-c", MANAGERS[manager]!, "sh", ...START, "task", "-q", "laneway", "--port", "0", "--config", path],
      cwd: ROOT,
      env: { NO_COLOR: "1", LANEWAY_CONFIG: "", SLOW: folder },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      // A group of its own, so that nothing of it is left where the test fails.
      detached: true,
    }).spawn();
    let text = "";
    const serving = Promise.withResolvers<void>();
    const over = (async () => {
      for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes("Keys: ")) serving.resolve();
      }
      serving.reject(new Error(`It did not start: ${text}`));
    })();
    try {
      await within(serving.promise);
      await use({ pid: pidIn(text), over, text: () => text });
    } finally {
      for (const group of [child.pid, pidIn(text)]) killGroup(group);
      await child.status;
      await within(over);
    }
  });
}

function pidIn(text: string): number {
  return Number(text.match(/pid=(\d+)/)?.[1]);
}

function killGroup(leader: number): void {
  try {
    Deno.kill(-leader, "SIGKILL");
  } catch { /* it has ended, or leads no group */ }
}

for (const manager of Object.keys(MANAGERS)) {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    Deno.test({
      name: `npx, ${manager}: ${signal} to npx ends the gateway as SIGTERM does, and leaves nothing running`,
      ignore: missing !== undefined,
      async fn() {
        await withChain(manager, async ({ pid, over, text }) => {
          // A gateway says where pages can be opened and where it serves; nothing of npx or Deno comes before.
          assertMatch(text(), /^pid=\d+\nLaneway(: .*\nLaneway)? /);
          const { port } = new URL(text().match(/http:\/\/[\d.:]+/)![0]);
          Deno.kill(pid, signal);
          await within(over);
          assert(text().includes("SIGTERM: finishing running requests"), text());
          const refused = await Deno.connect({ port: Number(port) }).then((open) => open.close(), () => "refused");
          assertEquals(refused, "refused");
        });
      },
    });
  }
}
