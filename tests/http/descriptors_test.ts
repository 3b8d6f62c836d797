/** A process that may open few files, and clients that open many connections and send nothing. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { chunk, jsonAnswer, LAST_CHUNK, postHead, STREAM_HEAD, TcpClient, TcpUpstream } from "../sockets/tcp.ts";
import { ENDING, word } from "../support/chat.ts";
import { GATEWAY_ENV, gatewayArgs, statusOf } from "../support/gateway_process.ts";
import { withFolder } from "../support/process.ts";
import { delay, until, within } from "../support/wait.ts";

const ANSWER = {
  id: "1",
  object: "chat.completion",
  created: 1,
  model: "any",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
};

interface Gateway {
  url: string;
  port: number;
  said(): string;
  kill(signal: Deno.Signal): void;
  status: Promise<Deno.CommandStatus>;
  upstream: TcpUpstream;
}

/** A gateway that may have so many files and connections. */
async function withDescriptors(count: number, limits: object, use: (gateway: Gateway) => Promise<void>): Promise<void> {
  const upstream = new TcpUpstream();
  await withFolder(async (folder) => {
    await Deno.writeTextFile(
      `${folder}/gateway.json`,
      JSON.stringify({
        upstreams: { tcp: { driver: "chat", baseUrl: upstream.baseUrl } },
        lanes: { oss: { upstreams: { chat: "tcp" } } },
        store: { kind: "memory" },
        limits,
      }),
    );
    const args = gatewayArgs(["--port", "0"]);
    const child = new Deno.Command("sh", {
      args: ["-c", `ulimit -n ${count} && exec "$@"`, "sh", Deno.execPath(), ...args],
      cwd: folder,
      env: GATEWAY_ENV,
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let text = "";
    const serving = Promise.withResolvers<void>();
    const reading = (async () => {
      for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes("Keys: ")) serving.resolve();
      }
      serving.reject(new Error(`It did not start: ${text}`));
    })();
    let isRunning = true;
    const status = child.status.finally(() => isRunning = false);
    try {
      await within(serving.promise);
      const url = text.match(/http:\/\/[\d.:]+/)![0];
      const kill = (signal: Deno.Signal) => child.kill(signal);
      await use({ url, port: Number(new URL(url).port), said: () => text, kill, status, upstream });
    } finally {
      if (isRunning) child.kill("SIGKILL");
      await status;
      await reading;
      await upstream.stop();
    }
  });
}

function chat(url: string, stream: boolean): Promise<Response> {
  return fetch(`${url}/oss/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model: "any", stream, messages: [{ role: "user", content: "Hello" }] }),
  });
}

function status(url: string, patienceMs = 10_000): Promise<number> {
  return statusOf(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(patienceMs) });
}

/** As many connections as the gateway takes of `count`. */
async function occupy(port: number, count: number): Promise<Deno.TcpConn[]> {
  const open: Deno.TcpConn[] = [];
  for (let opened = 0; opened < count; opened++) {
    try {
      open.push(await Deno.connect({ hostname: "127.0.0.1", port }));
    } catch { /* refused while the gateway takes its port again */ }
  }
  return open;
}

for (const [limit, idle] of [[256, 300], [1_024, 1_100]] as const) {
  Deno.test({
    name:
      `descriptors: ${idle} idle connections at ${limit} end nothing: streams go on, and further clients are served`,
    ignore: Deno.build.os === "windows",
    async fn() {
      await withDescriptors(
        limit,
        { concurrentRequests: 50 },
        async ({ url, port, said, kill, status: ended, upstream }) => {
          const streamed = chat(url, true);
          const asked = await upstream.next();
          await asked.write(STREAM_HEAD + chunk(word("before")));
          const reader = (await streamed).body!.pipeThrough(new TextDecoderStream()).getReader();
          let text = "";
          const readUntil = async (part: string) => {
            while (!text.includes(part)) {
              const { done, value } = await within(reader.read());
              if (done) throw new Error(`The stream ended: ${text}`);
              text += value;
            }
          };
          await readUntil("before");
          const sending = await TcpClient.connect(port);
          await sending.send(`${postHead("/oss/v1/chat/completions", 1_000)}{"model":`);
          assertEquals(await status(`${url}/healthz`), 200); // by now it has the head, too
          const open = await occupy(port, idle);
          try {
            for (let round = 0; round < 3; round++) {
              for (let tries = 0; await status(`${url}/healthz`, 1_000) !== 200; tries++) {
                if (tries > 60) throw new Error(`It serves nobody: ${said()}`);
                await delay(100);
              }
              await asked.write(chunk(word(`round ${round}`)));
              await readUntil(`round ${round}`);
              open.push(...await occupy(port, idle));
            }
            // What was still on its way when the server gave way is to be sent again.
            assertStringIncludes(await within(sending.readUntil("}}")), "503 Service Unavailable");
            await asked.write(chunk(ENDING) + LAST_CHUNK);
            await readUntil("[DONE]");
            assertMatch(
              said(),
              /(Cannot take connections: .*|Few open files are left)\. Closing idle connections/,
            );
          } finally {
            sending.close();
            for (const connection of open) connection.close();
            await reader.cancel();
          }
          kill("SIGTERM");
          assertEquals((await within(ended)).code, 0, said());
        },
      );
    },
  });
}

Deno.test({
  name: "descriptors: a process that may have fewer than its requests need says so at the start, and sheds beyond them",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withDescriptors(256, {}, async ({ url, said, upstream }) => {
      // It is counted once clients are served.
      await until(() => said().includes("limits.concurrentRequests (2000) needs 4064"));
      const refusals: { status: number; body: string; retryAfter: string | null }[] = [];
      const answers: Promise<void>[] = [];
      // Nobody is answered but those that are too many.
      while (refusals.length < 5) {
        const known = upstream.asked.length + refusals.length;
        answers.push((async () => {
          const response = await chat(url, false);
          const retryAfter = response.headers.get("retry-after");
          refusals.push({ status: response.status, body: await response.text(), retryAfter });
        })());
        await until(() => upstream.asked.length + refusals.length > known);
      }
      for (const { status, body, retryAfter } of refusals) assertEquals([status, retryAfter], [503, "1"], body);
      const taken = upstream.asked.length;
      assert(taken > 50 && taken < 100, `${taken} were let in`);
      assertEquals(await status(`${url}/healthz`), 200);
      assert(!said().includes("Cannot take connections"), said());
      // Those that were let in are answered, and there is room again.
      for (const asked of upstream.asked) await asked.write(jsonAnswer(ANSWER));
      await within(Promise.all(answers));
      assertEquals(refusals.filter((one) => one.status === 200).length, taken);
    });
  },
});

/** What a process that may have so many finds out about them for so many requests at once. */
async function scarcityAt(count: number, concurrentRequests: number): Promise<string> {
  const path = new URL("../../src/http/descriptors.ts", import.meta.url);
  const program = `import { createDescriptors, scarcityLine } from "${path.href}";
    const descriptors = createDescriptors("${path.pathname}");
    const line = scarcityLine(descriptors, ${concurrentRequests});
    let isScarce = false;
    for (let isCounted = false; !isCounted;) {
      isScarce ||= descriptors.areScarce();
      isCounted = await Promise.race([line.then(() => true), new Promise((go) => setTimeout(go, 0, false))]);
    }
    console.log(isScarce ? "scarce while they were counted" : await line ?? "enough");`;
  const args = ["-c", `ulimit -n ${count} && exec "$@"`, "sh", Deno.execPath(), "eval", program];
  const { stdout } = await new Deno.Command("sh", { args, stderr: "inherit" }).output();
  return new TextDecoder().decode(stdout).trim();
}

Deno.test({
  name: "descriptors: they are counted to the last, and a client who comes meanwhile finds enough",
  ignore: Deno.build.os === "windows",
  async fn() {
    assertEquals(await scarcityAt(1_024, 400), "enough");
    assertMatch(await scarcityAt(1_024, 2_000), /^Open files: this process may have (9\d\d|10[012]\d) more/);
  },
});
