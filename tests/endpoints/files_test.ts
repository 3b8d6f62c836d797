/** Files that clients upload once and name by their ids: in each wire's form, by its vendor's library. */
import process from "node:process";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import Anthropic, { toFile as toMessagesFile } from "anthropic-sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI, { toFile } from "openai";
import type { JsonObject } from "../../src/canonical/json.ts";
import { upload as uploadToGemini } from "../../plugins/gemini/files.ts";
import { GatewayError } from "../../src/errors.ts";
import { randomId } from "../../src/util/digest.ts";
import { CONFIG, ENV, newApp, NOW, type TestApp, type TestAppOptions } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const KEYS = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }];

interface RigOptions extends TestAppOptions {
  more?: object;
}

function newRig({ more, ...options }: RigOptions = {}) {
  const upstream = fakeUpstream(() => answerWhole());
  const app = newApp({
    config: { ...CONFIG, keys: KEYS, ...more },
    fetch: upstream.fetch,
    newId: randomId,
    ...options,
  });
  const said = (call = -1) => JSON.parse(upstream.asked.at(call)!.body).messages as JsonObject[];
  return { app, openai: openaiOf(app), anthropic: anthropicOf(app), said, upstream };
}

function fetchOf(app: TestApp): typeof fetch {
  return (input, init) => app.fetch(new Request(input, init));
}

function openaiOf(app: TestApp, apiKey = ENV.TEAM_KEY): OpenAI {
  return new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey, maxRetries: 0, fetch: fetchOf(app) });
}

function anthropicOf(app: TestApp, apiKey = ENV.TEAM_KEY): Anthropic {
  return new Anthropic({ baseURL: "http://gateway/oss", apiKey, maxRetries: 0, fetch: fetchOf(app) });
}

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const TEXT = "a,b\n1,2\n";

Deno.test("files: uploaded, listed page by page, read, downloaded and deleted with the vendor's library", async () => {
  const { openai } = newRig();
  const file = await openai.files.create({
    file: await toFile(new TextEncoder().encode(TEXT), "tänze.csv"),
    purpose: "user_data",
    expires_after: { anchor: "created_at", seconds: 3600 },
  });
  assert(/^file-[0-9a-f]{32}$/.test(file.id), file.id);
  assertEquals({ ...file, id: "" }, {
    id: "",
    object: "file",
    bytes: TEXT.length,
    created_at: NOW / 1000,
    expires_at: NOW / 1000 + 3600,
    filename: "tänze.csv",
    purpose: "user_data",
    status: "processed",
  });
  const second = await openai.files.create({ file: await toFile(PNG, "a.png"), purpose: "vision" });
  assertEquals(await openai.files.retrieve(file.id), file);
  assertEquals(await (await openai.files.content(file.id)).text(), TEXT);
  assertEquals((await openai.files.list()).data, [second, file]);
  assertEquals((await openai.files.list({ order: "asc", limit: 1 })).data, [file]);
  assertEquals((await openai.files.list({ after: second.id })).data, [file]);
  assertEquals((await openai.files.list({ purpose: "vision" })).data, [second]);
  const all = await Array.fromAsync(openai.files.list({ limit: 1 }));
  assertEquals(all.map(({ id }) => id), [second.id, file.id]);
  assertEquals(await openai.files.delete(file.id), { id: file.id, object: "file", deleted: true });
  for (const gone of [file.id, "file-none"]) {
    await assertRejects(() => openai.files.retrieve(gone), OpenAI.NotFoundError);
    await assertRejects(() => openai.files.content(gone), OpenAI.NotFoundError);
    await assertRejects(() => openai.files.delete(gone), OpenAI.NotFoundError);
  }
});

Deno.test("files: the same in the form of Messages, from which no uploaded file can be downloaded", async () => {
  const { anthropic, openai } = newRig();
  const file = await anthropic.beta.files.upload({ file: await toMessagesFile(PNG, "a.png", { type: "image/png" }) });
  assert(/^file_[0-9a-f]{32}$/.test(file.id), file.id);
  assertEquals({ ...file, id: "" } as unknown, {
    id: "",
    type: "file",
    filename: "a.png",
    mime_type: "image/png",
    size_bytes: PNG.length,
    created_at: new Date(NOW).toISOString(),
    downloadable: false,
    expires_at: null,
    scope: null,
  });
  const second = await anthropic.beta.files.upload({ file: await toMessagesFile(PNG, "b.png") });
  assertEquals(await anthropic.beta.files.retrieveMetadata(file.id), file);
  const ids = (await Array.fromAsync(anthropic.beta.files.list({ limit: 1 }))).map(({ id }) => id);
  assertEquals(ids, [second.id, file.id]);
  const refused = await assertRejects(() => anthropic.beta.files.download(file.id), Anthropic.BadRequestError);
  assert(JSON.stringify(refused.error).includes("file_not_downloadable"));
  // One file, whichever wire asks.
  assertEquals((await openai.files.retrieve(file.id.replace("_", "-"))).filename, "a.png");
  assertEquals((await anthropic.beta.files.delete(file.id)).type, "file_deleted");
  await assertRejects(() => anthropic.beta.files.retrieveMetadata(file.id), Anthropic.NotFoundError);
});

Deno.test("files: the newer form of Messages, with pages, ids and a time to expire", async () => {
  let now = NOW;
  const { app } = newRig({ now: () => now });
  const headers = { "x-api-key": ENV.TEAM_KEY!, "anthropic-version": "2023-06-01" };
  const form = new FormData();
  form.set("file", new File([TEXT], "a.csv", { type: "text/csv" }));
  form.set("expires_in_seconds", "3600");
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await app.fetch(new Request(`http://gateway/oss/v1/files${path}`, { headers, ...init }));
    return { status: response.status, body: await response.json() };
  };
  const { body: file } = await ask("", { method: "POST", body: form });
  assertEquals(file.expires_at, new Date(NOW + 3_600_000).toISOString());
  const { body: other } = await ask("?beta=true", { method: "POST", body: form });
  const page = (await ask("?limit=1")).body;
  assertEquals([page.data[0].id, page.next_page], [other.id, other.id]);
  assertEquals((await ask(`?page=${page.next_page}`)).body.data.map(({ id }: { id: string }) => id), [file.id]);
  assertEquals((await ask(`?before_id=${file.id}`)).body.data.map(({ id }: { id: string }) => id), [other.id]);
  assertEquals((await ask(`?ids[]=${file.id}`)).body.data.length, 1);
  now += 3_600_000;
  const { status, body } = await ask(`/${file.id}`);
  assertEquals([status, body.error.type, body.error.details.error_code], [404, "not_found_error", "file_expired"]);
  assertEquals((await ask("")).body.data, []);
});

// The library does not read the answers to its pieces.
Deno.test("files: in the form of Gemini, in pieces and named by URLs", { sanitizeResources: false }, async () => {
  const { app, said } = newRig();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => app.fetch(request));
  try {
    const baseUrl = `http://127.0.0.1:${server.addr.port}/oss`;
    const client = new GoogleGenAI({ apiKey: ENV.TEAM_KEY, httpOptions: { baseUrl } });
    // More than one piece of the library's.
    const large = new Uint8Array(9 * 2 ** 20).fill(97);
    const file = await client.files.upload({
      file: new Blob([large]),
      config: { mimeType: "text/plain", displayName: "large.txt" },
    });
    assertEquals([file.displayName, file.mimeType, file.sizeBytes], ["large.txt", "text/plain", String(large.length)]);
    assertEquals([file.state, file.expirationTime], ["ACTIVE", new Date(NOW + 48 * 3_600_000).toISOString()]);
    const picture = await client.files.upload({ file: new Blob([PNG]), config: { mimeType: "image/png" } });
    assertEquals((await client.files.get({ name: file.name! })).name, file.name);
    const listed = await Array.fromAsync(await client.files.list({ config: { pageSize: 1 } }));
    assertEquals(listed.map(({ name }) => name), [picture.name, file.name]);
    const contents = [{
      role: "user",
      parts: [{ fileData: { fileUri: picture.uri, mimeType: "image/png" } }, { text: "What is it?" }],
    }];
    await client.models.generateContent({ model: "model", contents });
    const [{ content }] = said() as [{ content: JsonObject[] }];
    assertEquals(content[0], { type: "image_url", image_url: { url: `data:image/png;base64,${PNG.toBase64()}` } });
    await client.files.delete({ name: file.name! });
    await assertRejects(() => client.files.get({ name: file.name! }), Error, "404");
  } finally {
    await server.shutdown();
  }
});

Deno.test("files: in the form of Gemini in one body, alone or with its facts, and no further than declared", async () => {
  const { app } = newRig();
  const send = async (headers: HeadersInit, body: BodyInit, query = "") => {
    const init = { method: "POST", headers: { "x-goog-api-key": ENV.TEAM_KEY!, ...headers }, body };
    const response = await app.fetch(new Request(`http://gateway/oss/upload/v1beta/files${query}`, init));
    const text = await response.text();
    return { response, body: text === "" ? undefined : JSON.parse(text) };
  };
  const alone = await send({ "content-type": "image/png", "x-goog-upload-protocol": "raw" }, PNG);
  assertEquals([alone.body.file.mimeType, alone.body.file.sizeBytes], ["image/png", String(PNG.length)]);
  const facts = '{"file":{"displayName":"a.csv"}}';
  const related = [
    `--x`,
    "content-type: application/json",
    "",
    facts,
    "--x",
    "content-type: text/csv",
    "",
    TEXT,
    "--x--",
  ];
  const both = await send({ "content-type": "multipart/related; boundary=x" }, related.join("\r\n"));
  assertEquals([both.body.file.displayName, both.body.file.mimeType], ["a.csv", "text/csv"]);
  // Neither a name nor a type grows the records without bounds, or gets into another field.
  const odd = JSON.stringify({ file: { displayName: "n".repeat(5_000), mimeType: "text/plain;base64,QQ==,x" } });
  const parts = ["--x", "content-type: application/json", "", odd, "--x", "content-type: a/b c/d", "", TEXT, "--x--"];
  const strange = await send({ "content-type": "multipart/related; boundary=x" }, parts.join("\r\n"));
  assertEquals([strange.body.file.displayName.length, strange.body.file.mimeType], [255, "text/plain"]);
  const start = { "x-goog-upload-command": "start", "content-type": "application/json" };
  assertEquals((await send(start, "{}")).response.status, 400);
  const named = await send({ ...start, "x-goog-upload-header-content-length": "3" }, '{"file":{"name":"files/mine"}}');
  assertEquals([named.response.status, named.body.error.message.includes("chooses the names")], [400, true]);
  const begun = await send({ ...start, "x-goog-upload-header-content-length": "3" }, facts);
  const { search } = new URL(begun.response.headers.get("x-goog-upload-url")!);
  const piece = (command: string, offset: number) => ({
    "x-goog-upload-command": command,
    "x-goog-upload-offset": String(offset),
  });
  assertEquals((await send(piece("upload", 1), "a", search)).response.status, 400);
  assertEquals((await send(piece("upload", 0), "ab", search)).response.headers.get("x-goog-upload-status"), "active");
  const asked = await send(piece("query", 0), "", search);
  assertEquals(asked.response.headers.get("x-goog-upload-size-received"), "2");
  assertEquals((await send(piece("upload, finalize", 2), "cd", search)).response.status, 400);
  assertEquals((await send(piece("upload, finalize", 2), "c", search)).body.file.sizeBytes, "3");
  assertEquals((await send(piece("upload, finalize", 3), "d", search)).response.status, 400);
});

Deno.test("files: a boundary of hyphens in a body of hyphens costs no more than its bytes", () => {
  const body = new Uint8Array(24 * 2 ** 20).fill("-".charCodeAt(0));
  const headers = new Headers({ "content-type": `multipart/related; boundary=${"-".repeat(199)}x` });
  const since = process.threadCpuUsage();
  assertThrows(() => uploadToGemini.parse({ body, headers, params: {}, query: new URLSearchParams() }), GatewayError);
  const { user, system } = process.threadCpuUsage(since);
  assert((user + system) / 1000 < PARSING_MS, `${(user + system) / 1000} ms`);
});

/** The share of the processor's time that one form may take, in milliseconds. Otherwise it took several thousand. */
const PARSING_MS = 1_000;
