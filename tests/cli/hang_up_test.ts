/** SIGHUP at the launcher while the gateway starts: it means no end. */
import { assert, assertEquals } from "@std/assert";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { type Child, keepAtHangUp } from "../../src/cli/hang_up.ts";
import { watchSignals } from "../../src/cli/stop.ts";
import { deno } from "../../src/platform/deno.ts";
import { withFolder } from "../support/process.ts";
import { until, within } from "../support/wait.ts";

const STAYING = { isGone: () => false };
const CONFIG = JSON.stringify({
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { upstreams: { chat: "sandbox" } } },
  store: { kind: "memory" },
});
const LAUNCHER = new URL("../../src/cli/launch.ts", import.meta.url).href;

/** Children that end when they are signalled, by what they are signalled with. */
function startChildren() {
  const children: { signals: Deno.Signal[]; end(signal: Deno.Signal | null): void }[] = [];
  const spawn = (): Child => {
    const { promise: status, resolve } = Promise.withResolvers<Deno.CommandStatus>();
    const signals: Deno.Signal[] = [];
    children.push({
      signals,
      end: (signal) => resolve({ success: false, code: signal === null ? 3 : 129, signal }),
    });
    return { status, kill: (signal) => void signals.push(signal) };
  };
  return { children, spawn };
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("hang-up: a gateway that SIGHUP has ended is started again, however often; any other end is one", async () => {
  const { children, spawn } = startChildren();
  const { status } = keepAtHangUp(spawn, STAYING);
  for (const count of [1, 2, 3]) {
    await turn();
    assertEquals(children.length, count);
    children[count - 1]!.end("SIGHUP");
  }
  await turn();
  children[3]!.end(null);
  assertEquals((await status).code, 3);
  assertEquals(children.length, 4);
});

Deno.test("hang-up: a gateway that is to end is not started again, nor one whose terminal has gone", async () => {
  for (const isGone of [true, false]) {
    const { children, spawn } = startChildren();
    const child = keepAtHangUp(spawn, { isGone: () => isGone });
    if (!isGone) child.kill("SIGTERM");
    assertEquals(children[0]!.signals, isGone ? [] : ["SIGTERM"]);
    children[0]!.end("SIGHUP");
    assertEquals((await child.status).signal, "SIGHUP");
    assertEquals(children.length, 1);
  }
});

Deno.test("hang-up: one of several that come at the start is passed on, and not to a gateway that starts after it", async () => {
  const { children, spawn } = startChildren();
  const child = keepAtHangUp(spawn, STAYING);
  for (let count = 0; count < 5; count++) child.kill("SIGHUP");
  assertEquals(children[0]!.signals, []);
  await until(() => children[0]!.signals.length > 0);
  child.kill("SIGHUP");
  assertEquals(children[0]!.signals, ["SIGHUP", "SIGHUP"]);
  children[0]!.end("SIGHUP");
  await turn();
  child.kill("SIGHUP");
  assertEquals([children.length, children[1]!.signals], [2, []]);
  // What is held goes with the child that it was for.
  children[1]!.end(null);
  await child.status;
});

Deno.test("hang-up: a terminal that closes is no first of two signals: what the launcher sends after it aborts nothing", async () => {
  const signals = new Map<string, () => void>();
  const platform = {
    ...deno,
    os: "linux",
    env: () => undefined,
    onSignal(name: string, run: () => void) {
      signals.set(name, run);
      return () => {};
    },
  };
  const { first, second } = watchSignals(platform, { isGone: () => true });
  signals.get("SIGHUP")!();
  assertEquals(await first, "SIGHUP");
  await new Promise((resolve) => setTimeout(resolve, 300));
  signals.get("SIGINT")!();
  assertEquals(await Promise.race([second.then(() => "second"), turn().then(() => "none")]), "none");
});

/** Whether a process catches SIGHUP, as Linux has it. */
async function catchesHangUp(pid: number): Promise<boolean> {
  const caught = /^SigCgt:\s*(\w+)/m.exec(await Deno.readTextFile(`/proc/${pid}/status`))?.[1] ?? "0";
  return (parseInt(caught.slice(-1), 16) & 1) === 1;
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
}

function signal(pid: number, name: Deno.Signal = "SIGHUP"): void {
  try {
    Deno.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** Opens a named pipe for writing, where somebody waits to read it. */
function openWaited(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}

interface Start {
  /** The launcher's. It reads its configuration, and goes on once it is given it. */
  pid: number;
  configure(): Promise<void>;
  said(): string;
  isOver(): boolean;
}

async function withStart(use: (start: Start) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const config = `${folder}/gateway.json`;
    await new Deno.Command("mkfifo", { args: [config] }).output();
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-read", "--allow-env", "--allow-run", "--no-prompt", LAUNCHER, "--port", "0"],
      cwd: folder,
      env: { LANEWAY_CONFIG: "", NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let [text, isOver] = ["", false];
    const reading = (async () => {
      for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) text += piece;
    })();
    const ended = child.status.then(() => isOver = true);
    let pipe: number | undefined;
    const configure = async () => {
      await Deno.remove(config);
      await Deno.writeTextFile(config, CONFIG);
      writeSync(pipe!, CONFIG);
      closeSync(pipe!);
      pipe = undefined;
    };
    try {
      // By then it listens for signals.
      await until(() => isOver || (pipe = openWaited(config)) !== undefined);
      assert(!isOver, text);
      assert(await catchesHangUp(child.pid));
      await use({ pid: child.pid, configure, said: () => text, isOver: () => isOver });
    } finally {
      if (pipe !== undefined) closeSync(pipe);
      signal(child.pid, "SIGINT");
      await within(Promise.all([ended, reading]));
    }
  });
}

const ignore = Deno.build.os !== "linux";

Deno.test({
  name: "hang-up: a launcher and a gateway that get SIGHUP all the time while they start come to serve",
  ignore,
  async fn() {
    await withStart(async ({ pid, configure, said, isOver }) => {
      for (let count = 0; count < 20; count++) signal(pid);
      await configure();
      await until(() => {
        signal(pid);
        return isOver() || said().includes("Keys: ");
      });
      // By the one that was held back.
      await until(() => isOver() || said().includes("The configuration has not changed"));
      assert(!isOver(), said());
    });
  },
});

Deno.test({
  name: "hang-up: a gateway that is ended by SIGHUP from elsewhere while it starts is started again",
  ignore,
  async fn() {
    await withStart(async ({ pid, configure, said, isOver }) => {
      await configure();
      let first: number | undefined;
      await until(async () => isOver() || (first = (await childrenOf(pid))[0]) !== undefined);
      signal(first!);
      await until(() => isOver() || said().includes("Keys: "));
      assert(!isOver(), said());
      assertEquals((await childrenOf(pid)).includes(first!), false);
    });
  },
});
