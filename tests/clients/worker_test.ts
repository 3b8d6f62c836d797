/** `examples/worker`, built as its README says, in the runtime of Workers. Needs Node, and npm to install that runtime. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import { parse as parseJsonc } from "jsonc-parser";
import { connect } from "node:net";
import OpenAI from "openai";
import { chunk, jsonAnswer, LAST_CHUNK, STREAM_HEAD, TcpUpstream } from "../sockets/tcp.ts";
import { ANSWER, ENDING, frame, word } from "../support/chat.ts";
import { withFolder } from "../support/process.ts";
import { until, within } from "../support/wait.ts";
import { install, installLibraries, NODE, WORKERS } from "./install.ts";

const ROOT = new URL("../../", import.meta.url);
const EXAMPLE = new URL("examples/worker/", ROOT);
const KEY = "a-key-of-the-worker";
const MODEL = "gpt-oss-120b";
const HELLO = [{ role: "user" as const, content: "Hello" }];

interface Setting {
  url: string;
  upstream: TcpUpstream;
  /** The lines of the log so far. */
  logs: Record<string, unknown>[];
}

const node = await install(NODE, "node");
const libraries = await installLibraries([WORKERS]);
const missing = "reason" in node ? node.reason : "reason" in libraries ? libraries.reason : undefined;

Deno.test({
  name: `worker: the example answers the three wires${missing ? ` (skipped: ${missing})` : ""}`,
  ignore: missing !== undefined,
  async fn(t) {
    await withFolder(async (folder) => {
      await build(folder);
      await withWorker(folder, async (setting) => {
        await t.step("whole answers", () => within(testWhole(setting)));
        await t.step("streams", () => within(testStreams(setting)));
        await t.step("reasoning that the client keeps comes back to the model", () => within(testReasoning(setting)));
        await t.step("errors", () => within(testErrors(setting)));
        await t.step("a client that leaves ends the call to the upstream", () => within(testLeaving(setting)));
        await t.step("a call whose connection breaks is not sent twice", () => within(testBreaking(setting)));
        await t.step("streams at once", () => within(testMany(setting)));
        await t.step("its pages", () => within(testPages(setting)));
      });
    });
  },
});

/** Builds the example by the command of its README. */
async function build(folder: string): Promise<void> {
  const readme = await Deno.readTextFile(new URL("README.md", EXAMPLE));
  const [, command] = /^deno (bundle .+)$/m.exec(readme) ?? [];
  const args = command!.replace("examples/worker/dist", folder).split(" ");
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stdin: "null" }).output();
  assert(success, new TextDecoder().decode(stderr));
}

/** Runs the Worker with the settings of `wrangler.jsonc`, in front of an upstream whose answers the test writes. */
async function withWorker(folder: string, use: (setting: Setting) => Promise<void>): Promise<void> {
  if ("reason" in node || "reason" in libraries) return;
  const settings = parseJsonc(await Deno.readTextFile(new URL("wrangler.jsonc", EXAMPLE)));
  const upstream = new TcpUpstream();
  const script = `${libraries.folder}/worker.mjs`;
  await Deno.copyFile(new URL("worker.mjs", import.meta.url), script);
  const options = {
    folder,
    main: settings.main.replace("dist/", ""),
    compatibilityDate: settings.compatibility_date,
    compatibilityFlags: settings.compatibility_flags,
    durableObjects: Object.fromEntries(
      settings.durable_objects.bindings.map((binding: Record<string, string>) => [binding.name, binding.class_name]),
    ),
    bindings: { ...settings.vars, UPSTREAM_URL: upstream.baseUrl, HF_TOKEN: "upstream-secret", LANEWAY_KEY: KEY },
  };
  const child = new Deno.Command(node.program, {
    args: [script, JSON.stringify(options)],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const logs: Record<string, unknown>[] = [];
  const started = Promise.withResolvers<string>();
  const reading = (async () => {
    let rest = "";
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith("{")) logs.push(JSON.parse(line));
        else if (line.startsWith("http:")) started.resolve(line.replace(/\/$/, ""));
      }
    }
    started.reject(new Error("It did not start"));
  })();
  try {
    await use({ url: await within(started.promise), upstream, logs });
  } finally {
    await upstream.stop();
    await child.stdin.close();
    await within(child.status);
    await reading;
  }
}

function openai(url: string, apiKey = KEY): OpenAI {
  return new OpenAI({ baseURL: `${url}/oss/v1`, apiKey, maxRetries: 0 });
}

async function testWhole({ url, upstream }: Setting): Promise<void> {
  const chat = openai(url).chat.completions.create({ model: MODEL, messages: HELLO });
  const asked = await upstream.next();
  assertEquals(asked.headers.get("authorization"), "Bearer upstream-secret");
  assertEquals(JSON.parse(asked.body).model, "openai/gpt-oss-120b");
  await asked.write(jsonAnswer(ANSWER));
  assertEquals((await chat).choices[0]!.message.content, "whole");

  const messages = new Anthropic({ baseURL: `${url}/oss`, apiKey: KEY, maxRetries: 0 }).messages;
  const message = messages.create({ model: MODEL, max_tokens: 100, messages: HELLO });
  await (await upstream.next()).write(jsonAnswer(ANSWER));
  const [block] = (await message).content;
  assertEquals(block?.type === "text" && block.text, "whole");

  const { responses } = openai(url);
  const response = responses.create({ model: MODEL, input: "Hello" });
  await (await upstream.next()).write(jsonAnswer(ANSWER));
  const { id, output_text } = await response;
  assertEquals(output_text, "whole");
  const next = responses.create({ model: MODEL, input: "More", previous_response_id: id });
  const again = await upstream.next();
  assertEquals(JSON.parse(again.body).messages.map(({ role }: { role: string }) => role), [
    "user",
    "assistant",
    "user",
  ]);
  await again.write(jsonAnswer(ANSWER));
  await next;
}

/** Answers with two words. The second is sent once the client has read the first. */
async function streamTwo(upstream: TcpUpstream, hasRead: () => boolean): Promise<void> {
  const asked = await upstream.next();
  await asked.write(STREAM_HEAD + chunk(word("one ")));
  await until(hasRead);
  await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
}

async function testStreams({ url, upstream }: Setting): Promise<void> {
  const client = openai(url);
  let text = "";
  const hasRead = () => text === "one ";
  const take = async (pieces: AsyncIterable<string>) => {
    text = "";
    const answering = streamTwo(upstream, hasRead);
    for await (const piece of pieces) text += piece;
    await answering;
    assertEquals(text, "one two");
  };
  await take(chatPieces(client));
  await take(messagePieces(url));
  await take(responsePieces(client));
}

async function* chatPieces(client: OpenAI): AsyncGenerator<string> {
  const stream = await client.chat.completions.create({ model: MODEL, messages: HELLO, stream: true });
  for await (const { choices } of stream) yield choices[0]?.delta.content ?? "";
}

async function* messagePieces(url: string): AsyncGenerator<string> {
  const { messages } = new Anthropic({ baseURL: `${url}/oss`, apiKey: KEY, maxRetries: 0 });
  for await (const event of messages.stream({ model: MODEL, max_tokens: 100, messages: HELLO })) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
  }
}

async function* responsePieces(client: OpenAI): AsyncGenerator<string> {
  for await (const event of client.responses.stream({ model: MODEL, input: "Hello" })) {
    if (event.type === "response.output_text.delta") yield event.delta;
  }
}

async function testReasoning({ url, upstream }: Setting): Promise<void> {
  const { messages } = new Anthropic({ baseURL: `${url}/oss`, apiKey: KEY, maxRetries: 0 });
  const body = { model: MODEL, max_tokens: 2_000, thinking: { type: "enabled" as const, budget_tokens: 1_024 } };
  const stream = messages.stream({ ...body, messages: HELLO }).finalMessage();
  const asked = await upstream.next();
  await asked.write(STREAM_HEAD + chunk(frame({ delta: { reasoning_content: "I thought so" } })));
  await asked.write(chunk(word("one") + ENDING) + LAST_CHUNK);
  const { content } = await stream;
  const [thinking] = content;
  assert(thinking?.type === "thinking");
  assertMatch(thinking.signature, /^lw1\./);
  const shown = content.map((block) => block.type === "thinking" ? { ...block, thinking: "trimmed" } : block);
  const turns: Anthropic.MessageParam[] = [...HELLO, { role: "assistant", content: shown }, ...HELLO];
  const next = messages.create({ ...body, messages: turns });
  const again = await upstream.next();
  assertStringIncludes(again.body, "I thought so");
  await again.write(jsonAnswer(ANSWER));
  await next;
}

async function testErrors({ url, upstream }: Setting): Promise<void> {
  const body = { model: MODEL, messages: HELLO };
  await assertRejects(() => openai(url, "wrong").chat.completions.create(body), OpenAI.AuthenticationError);
  await assertRejects(
    () => openai(url).chat.completions.create({ ...body, model: "nothing" }),
    OpenAI.NotFoundError,
  );
  const failed = openai(url).chat.completions.create(body);
  failed.catch(() => {}); // awaited below
  await (await upstream.next()).write(jsonAnswer({ error: { message: "My words" } }, "400 Bad Request"));
  await assertRejects(() => failed, OpenAI.BadRequestError, "My words");
  const packed = await fetch(`${url}/oss/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-encoding": "gzip" },
    body: new Response(new Blob([JSON.stringify(body)]).stream().pipeThrough(new CompressionStream("gzip"))).body,
  });
  assertEquals(packed.status, 415);
  assertStringIncludes((await packed.json()).error.message, "uncompressed");
}

async function testLeaving({ url, upstream, logs }: Setting): Promise<void> {
  // The lines of earlier requests may come meanwhile.
  const left = () => logs.filter(({ status }) => status === 499).length;
  for (const [before, stream] of [false, true].entries()) {
    const client = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
    const body = JSON.stringify({ model: MODEL, messages: HELLO, stream });
    client.write(head(body) + body);
    const asked = await upstream.next();
    if (stream) {
      const arrived = new Promise<void>((resolve) =>
        client.on("data", (data) => `${data}`.includes("one") && resolve())
      );
      await asked.write(STREAM_HEAD + chunk(word("one")));
      await arrived;
    }
    // Before the head, the runtime takes a connection that is merely closed for one that still reads.
    client.resetAndDestroy();
    await asked.left;
    await until(() => left() === before + 1);
  }
}

async function testBreaking({ url, upstream }: Setting): Promise<void> {
  const ask = () => openai(url).chat.completions.create({ model: MODEL, messages: HELLO });
  const first = ask();
  const kept = await upstream.next();
  await kept.write(jsonAnswer(ANSWER));
  await first;
  const second = ask();
  second.catch(() => {}); // awaited below
  const broken = await upstream.next();
  assertEquals(broken.connection, kept.connection);
  const count = upstream.asked.length;
  broken.cut();
  await assertRejects(() => second, OpenAI.APIError);
  assertEquals(upstream.asked.length, count);
}

function head(body: string): string {
  return `POST /oss/v1/chat/completions HTTP/1.1\r\nhost: worker\r\nauthorization: Bearer ${KEY}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
}

async function testMany({ url, upstream }: Setting): Promise<void> {
  const count = 50;
  const client = openai(url);
  const all = Array.from({ length: count }, async () => {
    let text = "";
    for await (const piece of chatPieces(client)) text += piece;
    return text;
  });
  const asked = [];
  while (asked.length < count) asked.push(await upstream.next());
  for (const one of asked) await one.write(STREAM_HEAD + chunk(word("one ")));
  for (const one of asked) await one.write(chunk(word("two") + ENDING) + LAST_CHUNK);
  assertEquals(await Promise.all(all), Array(count).fill("one two"));
}

async function testPages({ url }: Setting): Promise<void> {
  const headers = { authorization: `Bearer ${KEY}` };
  const { status } = await (await fetch(`${url}/readyz`)).json();
  assertEquals(status, "ready");
  const { data } = await (await fetch(`${url}/oss/v1/models`, { headers })).json();
  assertEquals(data.map(({ id }: { id: string }) => id), [MODEL]);
  assertStringIncludes(await (await fetch(`${url}/docs`, { headers })).text(), "<!doctype html>");
}
