/** Several processes at one port, as the launcher starts them. */
import { assertEquals } from "@std/assert";
import { type Launched, type LaunchOptions, withFolder, withLaunched } from "../support/process.ts";

/** Whether tests of them are left out; the reason is printed. */
export const ignore = Deno.build.os !== "linux";
// deno-lint-ignore no-console -- a test that is left out says why
if (ignore) console.warn("Tests of several workers are left out: only Linux distributes connections among processes");

export interface Status {
  streamsOpen: number;
  workers: { worker: number; pid: number; status: string; streamsOpen?: number }[];
}

/** What the variables hold that configurations name. */
export const KEYS = {
  TEAM_KEY: "team-key-0123456789abcdef",
  GUEST_KEY: "guest-key-0123456789abcdef",
  SEALING_KEY: "0123456789abcdef0123456789abcdef",
};

export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Over a connection of its own, which may go to any of the processes. */
export async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  using client = Deno.createHttpClient({});
  const response = await fetch(url, { ...init, client, signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  return new Response(text, response);
}

export const statusOf = async (url: string): Promise<Status> => await (await ask(`${url}/status`)).json();

export function chatBody(changes: object = {}): RequestInit {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }], ...changes });
  return { method: "POST", headers: { "content-type": "application/json" }, body };
}

/** An upstream whose streams end when they are released. */
export function startUpstream() {
  const released = Promise.withResolvers<void>();
  const chunk = (delta: object, reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { stream } = await request.json();
    if (!stream) return Response.json({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] });
    const pieces = async function* () {
      yield chunk({ content: "Hi" }, null);
      await released.promise;
      yield `${chunk({}, "stop")}data: [DONE]\n\n`;
    };
    const body = ReadableStream.from(pieces()).pipeThrough(new TextEncoderStream());
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  return { url: `http://127.0.0.1:${server.addr.port}/v1`, release: released.resolve, stop: () => server.shutdown() };
}

export function configOf(baseUrl: string, lane = "oss") {
  return {
    upstreams: { fake: { driver: "chat", baseUrl } },
    lanes: { [lane]: { upstreams: { chat: "fake" } } },
    store: { path: "./stored/store.sqlite3" },
  };
}

export function withWorkers(
  use: (gateway: Launched, write: (config: unknown) => Promise<void>) => Promise<void>,
  config: object,
): Promise<void> {
  return withFolder(async (cwd) => {
    const write = (config: unknown) =>
      Deno.writeTextFile(`${cwd}/gateway.json`, typeof config === "string" ? config : JSON.stringify(config));
    await write(config);
    const temporary = `${cwd}/temporary`;
    await Deno.mkdir(temporary);
    const options: LaunchOptions = { cwd, env: { ...KEYS, REDIS_URL: "redis://127.0.0.1:1", TMPDIR: temporary } };
    const args = ["--workers", "2", "--port", String(freePort())];
    await withLaunched(args, options, async (gateway) => {
      await gateway.said("Workers: 2 processes");
      assertEquals([...Deno.readDirSync(temporary)].length, 1);
      await use(gateway, write);
    });
    assertEquals([...Deno.readDirSync(temporary)], [], "Something is left of them");
  });
}
