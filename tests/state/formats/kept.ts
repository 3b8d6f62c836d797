/** Everything that a gateway keeps in its store, written and read through the gateway and its commands. */
import { assert, assertEquals } from "@std/assert";
import type { ConfigInput } from "../../support/app.ts";
import { GATEWAY_ENV } from "../../support/gateway_process.ts";
import { serving } from "../../support/serving.ts";
import { until } from "../../support/wait.ts";

/** Ten years, the most that can be configured: until then a fixture can be read. */
const DAYS = 3650;

/** The names and ids by which what was written is found again. */
export interface Facts {
  key: string;
  revoked: string;
  response: string;
  background: string;
  conversation: string;
  /** A message of a thread. Absent before version 0.2. */
  thread?: string;
  /** An uploaded file. Absent before version 0.2. */
  file?: string;
  /** Reasoning that only a gateway with the same sealing key can read. */
  sealed: string;
}

/** A program to start: the arguments of Deno up to the entry file, and the folder. */
export interface Entry {
  args: string[];
  cwd: string | URL;
}

type Json = (method: "GET" | "POST", path: string, body?: object, key?: string) => Promise<{
  status: number;
  // deno-lint-ignore no-explicit-any -- tests name the fields that they expect
  body: any;
  notes: string;
}>;

export interface Running {
  call: Json;
  /** Calls with the key, and with a form if there is one. */
  raw(method: "GET" | "POST", path: string, key: string, form?: FormData): Promise<Response>;
  /** Runs a command on the same store, and returns its JSON. */
  // deno-lint-ignore no-explicit-any -- tests name the fields that they expect
  command(...args: string[]): Promise<any>;
}

export function configFor(store: ConfigInput["store"]): ConfigInput {
  return {
    upstreams: { sandbox: { driver: "sandbox" } },
    lanes: { oss: { models: { small: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
    storedKeys: true,
    usage: { retentionDays: DAYS },
    store: { ...store, retentionDays: DAYS },
  };
}

/** Calls `use` with a gateway of the program on that store, and stops it. */
export async function withProgram(
  { args, cwd }: Entry,
  folder: string,
  config: ConfigInput,
  env: Record<string, string>,
  use: (running: Running) => Promise<void>,
): Promise<void> {
  const file = `${folder}/gateway.json`;
  await Deno.writeTextFile(file, JSON.stringify(config));
  const options = { cwd, env: { ...GATEWAY_ENV, ...env, XDG_DATA_HOME: folder }, stdin: "null" } as const;
  const command = async (...more: string[]) => {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...args, ...more, "--config", file, "--json"],
      ...options,
    }).output();
    const [text, said] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert(text, said);
    return JSON.parse(text!);
  };
  await serving(
    Deno.execPath(),
    { ...options, args: [...args, "--config", file, "--port", "0"] },
    (url) => use({ command, call: callAt(url), raw: rawAt(url) }),
  );
}

function callAt(url: string): Json {
  return async (method, path, body, key) => {
    const response = await fetch(`${url}/oss/v1/${path}`, {
      method,
      headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    return {
      status: response.status,
      body: await response.json(),
      notes: response.headers.get("x-laneway-notes") ?? "",
    };
  };
}

function rawAt(url: string): Running["raw"] {
  return (method, path, key, form) =>
    fetch(`${url}/oss/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
      body: form,
      signal: AbortSignal.timeout(60_000),
    });
}

/** More than one piece of it is sealed by itself. */
const CONTENT = "a line of the file\n".repeat(20_000);
const FILE_NAME = "läne.txt";

async function upload({ raw }: Running, key: string): Promise<string> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new File([CONTENT], FILE_NAME, { type: "text/plain" }));
  const answer = await raw("POST", "files", key, form);
  const file = await answer.json();
  assertEquals(answer.status, 200, JSON.stringify(file));
  return file.id;
}

/** Fails unless the file is whole, its facts are there, and a conversation may name it. */
async function readFile({ call, raw }: Running, id: string, key: string): Promise<void> {
  const { status, body } = await call("GET", `files/${id}`, undefined, key);
  assertEquals([status, body.filename, body.bytes], [200, FILE_NAME, CONTENT.length], JSON.stringify(body));
  assertEquals(await (await raw("GET", `files/${id}/content`, key)).text(), CONTENT);
  const content = [{ type: "text", text: "What is it?" }, { type: "file", file: { file_id: id } }];
  const chat = await call("POST", "chat/completions", { model: "small", messages: [{ role: "user", content }] }, key);
  assertEquals(chat.status, 200, JSON.stringify(chat.body));
  assertEquals((await call("GET", "files", undefined, key)).body.data.length, 1);
}

const REASONED = { model: "small", reasoning: { effort: "low" }, include: ["reasoning.encrypted_content"] };

/** Writes once what `readAll` reads. */
export async function writeAll(running: Running): Promise<Facts> {
  const { call, command } = running;
  const { key } = await command("keys", "create", "ada", "--budget", "5/day");
  const { key: revoked } = await command("keys", "create", "bob");
  await command("keys", "revoke", "bob");
  const post = async (path: string, body: object) => {
    const answer = await call("POST", path, body, key);
    assertEquals(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const first = await post("responses", { model: "small", input: "one" });
  const second = await post("responses", { model: "small", input: "two", previous_response_id: first.id });
  const background = await post("responses", { model: "small", input: "slow", background: true });
  await until(async () =>
    (await call("GET", `responses/${background.id}`, undefined, key)).body.status === "completed"
  );
  const items = [{ type: "message", role: "user", content: "hello" }];
  const conversation = await post("conversations", { items, metadata: { topic: "t" } });
  await post(`conversations/${conversation.id}/items`, { items: [{ ...items[0], content: "again" }] });
  const turn = { model: "small", max_tokens: 100, messages: [{ role: "user", content: "one" }] };
  const { id: thread } = await post("messages", { ...turn, system: "Be brief.", thread: { type: "create" } });
  const { output } = await post("responses", { ...REASONED, input: "three", store: false });
  const ids = { response: second.id, background: background.id, conversation: conversation.id, thread };
  const file = await upload(running, key);
  return { key, revoked, ...ids, file, sealed: output[0].encrypted_content };
}

/** Fails unless all of it is found, and goes on with it. Returns the facts by which it goes on from there. */
export async function readAll(running: Running, facts: Facts): Promise<Facts> {
  const { call, command } = running;
  const { key } = facts;
  const get = async (path: string) => {
    const { status, body } = await call("GET", path, undefined, key);
    assertEquals(status, 200, `${path}: ${JSON.stringify(body)}`);
    return body;
  };
  const texts = ({ data }: { data: { content: { text: string }[] }[] }) => data.map(({ content }) => content[0]!.text);
  assertEquals((await get(`responses/${facts.response}`)).status, "completed");
  assertEquals((await get(`responses/${facts.background}`)).status, "completed");
  assertEquals((await get(`conversations/${facts.conversation}`)).metadata, { topic: "t" });
  assertEquals(texts(await get(`conversations/${facts.conversation}/items?order=asc`)), ["hello", "again"]);
  const more = { model: "small", input: "more", previous_response_id: facts.response };
  const { status, body } = await call("POST", "responses", more, key);
  assertEquals(status, 200, JSON.stringify(body));
  assertEquals((await call("POST", "responses", more, facts.revoked)).status, 401);
  const next: Facts = { ...facts, response: body.id };
  if (facts.thread) {
    const thread = { type: "continue", previous_message_id: facts.thread };
    const turn = { model: "small", max_tokens: 100, messages: [{ role: "user", content: "two" }], thread };
    const continued = await call("POST", "messages", turn, key);
    assertEquals(continued.status, 200, JSON.stringify(continued.body));
    next.thread = continued.body.id;
  }
  if (facts.file) await readFile(running, facts.file, key);
  const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: facts.sealed };
  const input = [{ role: "user", content: "three" }, thought, { role: "user", content: "four" }];
  const reasoned = await call("POST", "responses", { ...REASONED, input, store: false }, key);
  assertEquals([reasoned.status, reasoned.notes], [200, ""], JSON.stringify(reasoned.body));
  const { keys } = await command("keys", "list");
  assertEquals(keys.map(({ name }: { name: string }) => name), ["ada"]);
  const { rows } = await command("usage", "--by", "key");
  assertEquals(rows.map(({ key }: { key: string }) => key), ["ada"]);
  assert(rows[0].requests >= 4, JSON.stringify(rows));
  return next;
}
