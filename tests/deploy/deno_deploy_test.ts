/** Deno Deploy, simulated: `deno serve` with all permissions, several isolates on one database, and SIGINT as its end. */
import { hash } from "node:crypto";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { optionsFor } from "../../src/compose/on_deploy.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { CHAT, chatBody, CONFIG, newApp, NOW } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { withFolder } from "../support/process.ts";
import { until, within } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);
const KEY = "a-key-of-the-test";

/** An upstream whose streams do not end. */
function startUpstream() {
  const left: Promise<void>[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { stream, messages } = await request.json();
    const text = `messages=${messages.length}`;
    if (!stream) return Response.json({ choices: [{ message: { content: text }, finish_reason: "stop" }] });
    const gone = Promise.withResolvers<void>();
    left.push(gone.promise);
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(event)),
      cancel: () => gone.resolve(),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1`,
    async stop() {
      await Promise.all(left);
      await server.shutdown();
    },
  };
}

interface Deployed {
  url: string;
  kill(signal: Deno.Signal): void;
  ended: Promise<number>;
}

/** Serves as Deno Deploy does. `options` are Deno's own. */
async function deploy(folder: string, baseUrl: string, options: string[], use: (deployed: Deployed) => Promise<void>) {
  const config = {
    keys: [{ name: "app", secret: { env: "APP_KEY" } }],
    upstreams: { fake: { driver: "chat", baseUrl } },
    lanes: { oss: { upstreams: { chat: "fake" } } },
    usage: {},
  };
  await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
  const port = freePort();
  const args = ["serve", "--allow-all", ...options, "--host", "127.0.0.1", "--port"];
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args, String(port), new URL("src/app.ts", ROOT).href],
    cwd: ROOT,
    env: {
      DENO_DEPLOY: "1",
      DENO_JOBS: "3",
      LANEWAY_CONFIG: `${folder}/gateway.json`,
      APP_KEY: KEY,
      NO_COLOR: "1",
    },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const stderr = child.stderr.text();
  let code: number | undefined;
  const ended = child.status.then((status) => code = status.code);
  const url = `http://127.0.0.1:${port}`;
  try {
    await until(async () => code !== undefined || await isReady(url));
    assertEquals(code, undefined, code === undefined ? "" : await stderr);
    await use({ url, kill: (signal) => child.kill(signal), ended });
  } finally {
    if (code === undefined) child.kill("SIGKILL");
    await ended;
    await stderr;
  }
}

/** Deno keeps the database that has no path by the origin of the program. */
async function withStoreOf(origin: string, use: (folder: string) => Promise<void>): Promise<void> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], stderr: "null" }).output();
  const { originStorage } = JSON.parse(new TextDecoder().decode(stdout));
  try {
    await withFolder(use);
  } finally {
    await Deno.remove(`${originStorage}/${hash("sha256", origin)}`, { recursive: true });
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await ask(`${url}/readyz`)).status === 200;
  } catch {
    return false;
  }
}

/** The requests that were counted. */
async function requestsIn(url: string): Promise<number> {
  const { data } = (await ask(`${url}/usage`)).json as { data: { requests: number }[] };
  return data.reduce((sum, { requests }) => sum + requests, 0);
}

/** Over a connection of its own, which may go to any isolate. */
async function ask(url: string, body?: object): Promise<{ status: number; json: Record<string, unknown> }> {
  using client = Deno.createHttpClient({});
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const response = await fetch(url, { ...init, headers, client, signal: AbortSignal.timeout(60_000) });
  return { status: response.status, json: await response.json() };
}

Deno.test({
  name: "Deno Deploy: isolates share conversations and usage, which outlive them; SIGINT ends streams with a reason",
  // Deno divides connections among isolates by SO_REUSEPORT.
  ignore: Deno.build.os !== "linux",
  async fn() {
    const upstream = startUpstream();
    const origin = `http://${crypto.randomUUID()}.example`;
    const place = ["--location", origin];
    await withStoreOf(origin, async (folder) => {
      let previous: unknown;
      await deploy(folder, upstream.baseUrl, [...place, "--parallel"], async ({ url, kill, ended }) => {
        for (let turn = 0; turn < 8; turn++) {
          const body = { model: "m", input: "Hello", previous_response_id: previous };
          const { status, json } = await ask(`${url}/oss/v1/responses`, body);
          assertEquals(status, 200, JSON.stringify(json));
          assertStringIncludes(JSON.stringify(json.output), `messages=${2 * turn + 1}`);
          previous = json.id;
        }
        // What an answer used is written beside it, and the first isolate that ends takes all with it.
        await until(async () => await requestsIn(url) === 8);
        kill("SIGINT");
        assertEquals(await within(ended), 0);
      });
      await deploy(folder, upstream.baseUrl, place, async ({ url, kill, ended }) => {
        assertEquals((await ask(`${url}/oss/v1/responses/${previous}`)).status, 200);
        assertEquals(await requestsIn(url), 8);
        using client = Deno.createHttpClient({});
        const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
        const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] });
        const stream = await fetch(`${url}/oss/v1/chat/completions`, { method: "POST", headers, body, client });
        kill("SIGINT");
        const text = await within(stream.text());
        assertStringIncludes(text, "messages=1");
        assertStringIncludes(text.slice(-300), '"code":"unavailable"');
        assertEquals(await within(ended), 0);
      });
    });
    await upstream.stop();
  },
});

Deno.test("Deno Deploy: usage is stored with every answer, and memory is what a process has there", async () => {
  const { env, pace } = optionsFor((name) => name === "DENO_DEPLOY" ? "1" : undefined);
  assertEquals([env!("LANEWAY_MEMORY_LIMIT"), env!("HOME")], [String(512 * 1024 * 1024), undefined]);
  assertEquals(optionsFor(() => undefined), {});
  const known = async (options: object) => {
    const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
    const app = newApp({
      config: { ...CONFIG, usage: { retentionDays: 90 } },
      store,
      now: () => NOW,
      fetch: () => Promise.resolve(answerWhole()),
      ...options,
    });
    await (await app.post(CHAT, chatBody())).text();
    const isKnown = async () => await store.get(["usage", "keys"]) !== undefined;
    return { app, isKnown };
  };
  const patient = await known({ pace: { gatherMs: 3_600_000 } });
  const there = await known({ pace });
  await until(there.isKnown);
  assert(!await patient.isKnown());
  await Promise.all([there.app.close(), patient.app.close()]);
});
