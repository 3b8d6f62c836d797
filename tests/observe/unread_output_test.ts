/** A gateway of whose log, or of what it says, nobody reads a word. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { GATEWAY_ENV, gatewayArgs, statusOf } from "../support/gateway_process.ts";
import { withFolder } from "../support/process.ts";
import { until, within } from "../support/wait.ts";

/** Makes a line of the log so long; a pipe holds 64 kB of them, and the gateway 1 MiB. */
const LONG = "x".repeat(3_000);
const REQUESTS = 600;

interface Mute {
  url: string;
  folder: string;
  kill(signal: Deno.Signal): void;
  /** All that comes of the one that was not read, from now on. */
  read(): Promise<string>;
  /** What has been read so far. */
  output(): string;
  status: Promise<Deno.CommandStatus>;
}

/** A gateway whose `unread` stream nobody reads until `read` is called. */
async function withMute(unread: "stdout" | "stderr", use: (gateway: Mute) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    listener.close();
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(CONFIG));
    const child = new Deno.Command(Deno.execPath(), {
      args: gatewayArgs(["--port", `${port}`]),
      cwd: folder,
      env: GATEWAY_ENV,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const other = child[unread === "stdout" ? "stderr" : "stdout"].text();
    let text = "";
    const read = async () => {
      for await (const piece of child[unread].pipeThrough(new TextDecoderStream())) text += piece;
      return text;
    };
    const url = `http://127.0.0.1:${port}`;
    let reading: Promise<string> | undefined;
    try {
      for (let tries = 0; await statusOf(`${url}/healthz`) !== 200; tries++) {
        if (tries > 400) throw new Error("It did not start");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await use({
        url,
        folder,
        kill: (signal) => child.kill(signal),
        read: () => reading ??= read(),
        output: () => text,
        status: child.status,
      });
    } finally {
      try {
        child.kill("SIGKILL");
      } catch { /* it has ended */ }
      await child.status;
      await other;
      await (reading ?? read());
    }
  });
}

const CONFIG = {
  upstreams: { here: { driver: "sandbox" } },
  lanes: { oss: { upstreams: { chat: "here" } } },
  store: { kind: "memory" },
};

/** It answers, about itself and by a model. */
async function assertServes(url: string): Promise<void> {
  const body = JSON.stringify({ model: "sandbox", messages: [{ role: "user", content: "Hello" }] });
  const init = { method: "POST", headers: { "content-type": "application/json" }, body };
  assertEquals([await statusOf(`${url}/healthz`), await statusOf(`${url}/oss/v1/chat/completions`, init)], [200, 200]);
}

async function fill(url: string): Promise<void> {
  const one = async () => {
    for (let at = 0; at < REQUESTS / 10; at++) assertEquals(await statusOf(`${url}/oss/${LONG}`), 404);
  };
  await Promise.all(Array.from({ length: 10 }, one));
}

Deno.test("a log that nobody reads stops nothing; whoever reads it later gets whole lines, and the number of those dropped", async () => {
  await withMute("stdout", async ({ url, kill, read, output, status }) => {
    await fill(url);
    await assertServes(url);
    const all = read();
    await until(() => output().includes('"dropped":'));
    await assertServes(url);
    kill("SIGTERM");
    assertEquals((await within(status)).code, 0);
    const lines = (await all).trimEnd().split("\n").map((line) => JSON.parse(line));
    const dropped = lines.reduce((sum, line) => sum + (line.dropped ?? 0), 0);
    assert(dropped > 0);
    // Those of the two chats, too.
    assertEquals(lines.filter(({ id }) => id !== undefined).length + dropped, REQUESTS + 2);
  });
});

Deno.test("a gateway whose log nobody reads ends at SIGTERM, and leaves whole lines only", async () => {
  await withMute("stdout", async ({ url, kill, read, status }) => {
    await fill(url);
    kill("SIGTERM");
    assertEquals((await within(status)).code, 0);
    const text = await read();
    assert(text.endsWith("\n"));
    for (const line of text.trimEnd().split("\n")) JSON.parse(line);
  });
});

Deno.test({
  name:
    "what is said and nobody reads stops nothing; whoever reads it later gets whole lines, and the number of those dropped",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withMute("stderr", async ({ url, folder, kill, read, output, status }) => {
      // Each of these is a line of what is wrong with the configuration. Read once, they are more than pipe and gateway hold.
      const wrong = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`wrong-${at}-${LONG}`, 1]));
      await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ ...CONFIG, ...wrong }));
      for (let times = 0; times < 3; times++) {
        kill("SIGHUP");
        await assertServes(url);
      }
      const all = read();
      await until(() => output().includes("lines were dropped"));
      await assertServes(url);
      kill("SIGTERM");
      assertEquals((await within(status)).code, 0);
      const lines = (await all).trimEnd().split("\n");
      assertMatch(
        lines.find((line) => line.includes("dropped"))!,
        /^\d+ lines were dropped here, because the output was not read$/,
      );
      const broken = lines.filter((line) =>
        /wrong-/.test(line) && !/^ {2}wrong-\d+-x{3000}: Unknown setting/.test(line)
      );
      assertEquals(broken, []);
      assertMatch(lines.at(-1)!, /^SIGTERM: finishing/);
    });
  },
});

Deno.test("what is said and nobody reads does not keep the gateway from its end", async () => {
  await withMute("stderr", async ({ folder, url, kill, status }) => {
    const wrong = Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`wrong-${at}-${"x".repeat(50)}`, 1]));
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ ...CONFIG, ...wrong }));
    kill("SIGHUP");
    await assertServes(url);
    kill("SIGTERM");
    assertEquals((await within(status)).code, 0);
  });
});
