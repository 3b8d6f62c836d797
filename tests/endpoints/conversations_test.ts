/** Conversations that the gateway keeps: made, read, changed, and a part of requests. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import OpenAI from "openai";
import type { JsonObject } from "../../src/canonical/json.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { CONFIG, ENV, newApp, NOW, type TestApp, type TestAppOptions } from "../support/app.ts";
import { ANSWER, answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

let ids = 0;

function newRig(options: TestAppOptions = {}) {
  const upstream = fakeUpstream(({ body }) =>
    JSON.parse(body).stream ? answerStream([word("whole"), ENDING]) : answerWhole()
  );
  const app = newApp({ fetch: upstream.fetch, newId: () => `x${++ids}x`, ...options });
  return { app, client: clientOf(app), said: (call: number) => turnsOf(JSON.parse(upstream.asked[call]!.body)) };
}

function clientOf(app: TestApp, apiKey = "x"): OpenAI {
  const fetchApp: typeof fetch = (input, init) => app.fetch(new Request(input, init));
  return new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey, maxRetries: 0, fetch: fetchApp });
}

const turnsOf = (body: JsonObject) => (body.messages as JsonObject[]).map(({ role, content }) => `${role}: ${content}`);
const user = (content: string) => ({ type: "message" as const, role: "user" as const, content });
const WHOLE = ANSWER.choices[0]!.message.content;

Deno.test("conversations: made with items, read, renamed and deleted", async () => {
  const { client } = newRig();
  const made = await client.conversations.create({ metadata: { topic: "a" }, items: [user("One")] });
  assertEquals([made.object, made.metadata, made.created_at], ["conversation", { topic: "a" }, NOW / 1000]);
  assert(made.id.startsWith("conv_"));
  assertEquals(await client.conversations.retrieve(made.id), made);
  const renamed = await client.conversations.update(made.id, { metadata: { topic: "b" } });
  assertEquals(renamed, { ...made, metadata: { topic: "b" } });
  const deleted = await client.conversations.delete(made.id);
  assertEquals([deleted.id, deleted.object, deleted.deleted], [made.id, "conversation.deleted", true]);
  for (const id of [made.id, "conv_none"]) {
    await assertRejects(() => client.conversations.retrieve(id), OpenAI.NotFoundError);
    await assertRejects(
      () => client.responses.create({ model: "model", input: "?", conversation: id }),
      OpenAI.NotFoundError,
    );
  }
});

Deno.test("conversations: items are added, listed page by page, read and removed", async () => {
  const { client } = newRig();
  const { id } = await client.conversations.create();
  const items = [
    user("One"),
    { type: "function_call" as const, call_id: "call_1", name: "f", arguments: "{}" },
    { type: "function_call_output" as const, call_id: "call_1", output: "done" },
  ];
  const added = await client.conversations.items.create(id, { items });
  assertEquals(added.data.map(({ type }) => type), ["message", "function_call", "function_call_output"]);
  const [message, call] = added.data;
  assertEquals((message as { content: unknown }).content, [{ type: "input_text", text: "One" }]);
  await client.conversations.items.create(id, { items: [user("Two")] });

  const listed: string[] = [];
  for await (const item of client.conversations.items.list(id, { limit: 3, order: "asc" })) listed.push(item.id!);
  assertEquals([listed.length, new Set(listed).size, listed.slice(0, 3)], [4, 4, added.data.map((item) => item.id!)]);
  const newest = await client.conversations.items.list(id, { limit: 1 });
  assertEquals([newest.data[0]!.id, newest.has_more], [listed[3], true]);

  assertEquals(await client.conversations.items.retrieve(call!.id!, { conversation_id: id }), call);
  assertEquals((await client.conversations.items.delete(call!.id!, { conversation_id: id })).id, id);
  await assertRejects(
    () => client.conversations.items.retrieve(call!.id!, { conversation_id: id }),
    OpenAI.NotFoundError,
  );
  const left = await client.conversations.items.list(id, { order: "asc" });
  assertEquals(left.data.map((item) => item.id), listed.filter((one) => one !== call!.id));
  const many = Array.from({ length: 21 }, () => user("?"));
  await assertRejects(() => client.conversations.items.create(id, { items: many }), OpenAI.BadRequestError);
});

for (const stream of [false, true]) {
  Deno.test(`conversations: a request and its answer become a part of one, ${stream ? "streamed" : "whole"}`, async () => {
    const { client, said } = newRig();
    const { id } = await client.conversations.create({ items: [user("One")] });
    const ask = async (input: string, more: object = {}) => {
      const body = { model: "model", input, ...more };
      if (!stream) return await client.responses.create(body);
      for await (const event of await client.responses.create({ ...body, stream: true })) {
        if (event.type === "response.completed") return event.response;
      }
      throw new Error("The stream did not complete");
    };
    const first = await ask("Two", { conversation: id, instructions: "Be brief" });
    assertEquals(first.conversation, { id });
    await ask("Three", { conversation: { id }, store: false });
    // Instructions are for one answer only; turns of one side that follow each other are one turn.
    assertEquals(said(1), ["user: One\n\nTwo", `assistant: ${WHOLE}`, "user: Three"]);
    const { data } = await client.conversations.items.list(id, { order: "asc" });
    assertEquals(data.map((item) => (item as { role: string }).role), [
      "user",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    const both = { conversation: id, previous_response_id: first.id };
    await assertRejects(() => client.responses.create({ model: "model", input: "?", ...both }), OpenAI.BadRequestError);
  });
}

Deno.test("conversations: whoever adds to one at the same time loses nothing, and nobody else sees it", async () => {
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }];
  const store = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 20 });
  const one = newRig({ config: { ...CONFIG, keys }, store });
  const other = newRig({ config: { ...CONFIG, keys }, store });
  const [team, same] = [clientOf(one.app, ENV.TEAM_KEY), clientOf(other.app, ENV.TEAM_KEY)];
  const { id } = await team.conversations.create();
  await Promise.all(
    Array.from(
      { length: 20 },
      (_, index) => (index % 2 === 0 ? team : same).conversations.items.create(id, { items: [user(String(index))] }),
    ),
  );
  const { data } = await same.conversations.items.list(id, { limit: 100 });
  assertEquals(new Set(data.map((item) => item.id)).size, 20);
  const guest = clientOf(one.app, ENV.GUEST_KEY);
  await assertRejects(() => guest.conversations.retrieve(id), OpenAI.NotFoundError);
  await assertRejects(() => guest.conversations.items.create(id, { items: [user("?")] }), OpenAI.NotFoundError);
});

Deno.test("conversations: one that is longer than a request may be is not gone on with, and can be deleted", async () => {
  const { client } = newRig({ config: { ...CONFIG, limits: { bodyBytes: 2_000 } } });
  const { id } = await client.conversations.create({ items: [user("a".repeat(1_500))] });
  await client.conversations.items.create(id, { items: [user("b".repeat(1_500))] });
  const error = await assertRejects(
    () => client.responses.create({ model: "model", input: "?", conversation: id }),
    OpenAI.BadRequestError,
  );
  assertEquals(error.param, "conversation");
  await client.conversations.delete(id);
  await assertRejects(() => client.conversations.retrieve(id), OpenAI.NotFoundError);
});

Deno.test("conversations: one that is used is kept, with all its items", async () => {
  let time = NOW;
  const { client } = newRig({ now: () => time, config: { ...CONFIG, store: { retentionDays: 1 } } });
  const { id } = await client.conversations.create({ items: [user("0")] });
  for (let count = 1; count <= 5; count++) {
    time += 80_000_000; // less than a day
    await client.conversations.items.create(id, { items: [user(String(count))] });
  }
  time += 86_400_000 - 1;
  assertEquals((await client.conversations.items.list(id)).data.length, 6);
  time++;
  await assertRejects(() => client.conversations.retrieve(id), OpenAI.NotFoundError);
});

Deno.test("conversations: an id that many items share removes all of them in one change", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 20 });
  let changes = 0;
  const add: typeof store.add = (...entry) => (changes++, store.add(...entry));
  const { app, client } = newRig({ store: { ...store, add } });
  const step = { type: "web_search_call", id: "ws_same", status: "completed", action: { type: "search", query: "q" } };
  const made = await app.fetch(
    new Request("http://gateway/oss/v1/conversations", {
      method: "POST",
      body: JSON.stringify({ items: [user("One"), ...Array.from({ length: 15 }, () => step), user("Two")] }),
    }),
  );
  const { id } = await made.json();
  const ids = async () => (await client.conversations.items.list(id, { limit: 100 })).data.map((item) => item.id);
  const before = await ids();
  changes = 0;
  await client.conversations.items.delete("ws_same", { conversation_id: id });
  assertEquals([await ids(), changes], [[before[0]!, before[16]!], 1]);
});

Deno.test("conversations: items that were removed one by one stay away", async () => {
  const { client } = newRig();
  const { id } = await client.conversations.create({ items: [user("0"), user("1"), user("2")] });
  const [last, middle, first] = (await client.conversations.items.list(id)).data;
  await client.conversations.items.delete(middle!.id!, { conversation_id: id });
  await client.conversations.items.create(id, { items: [user("3")] });
  await client.conversations.items.delete(last!.id!, { conversation_id: id });
  const left = (await client.conversations.items.list(id, { order: "asc" })).data;
  assertEquals([left.length, left[0]!.id], [2, first!.id]);
});
