import { assert, assertEquals, assertRejects } from "@std/assert";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { type Anthropic, forEachMajor } from "./messages_clients.ts";

forEachMajor("the list holds the vendor's names only, and ends", async ({ client, calls }) => {
  const ids: string[] = [];
  for await (const { id } of client.models.list()) {
    ids.push(id);
    assert(ids.length < 10, "the list does not end");
  }
  assertEquals([ids, calls.length], [["claude-sandbox", "anthropic/sandbox"], 1]);
}, fakeUpstream);

forEachMajor("the list comes in pages of the size that is asked for", async ({ client, calls }) => {
  const ids: string[] = [];
  for await (const { id } of client.models.list({ limit: 1 })) ids.push(id);
  assertEquals([ids, calls.length], [["claude-sandbox", "anthropic/sandbox"], 2]);
  const page = await client.models.list({ limit: 1000 });
  assertEquals([page.data.length, page.has_more, page.first_id, page.last_id], [
    2,
    false,
    "claude-sandbox",
    "anthropic/sandbox",
  ]);
  const before = await client.models.list({ before_id: "anthropic/sandbox" });
  assertEquals(before.data.map(({ id }) => id), ["claude-sandbox"]);
}, fakeUpstream);

forEachMajor("one model by its id, with a slash too", async ({ client, calls }, { Sdk }) => {
  const one = await client.models.retrieve("claude-sandbox");
  assertEquals([one.type, one.id, one.display_name], ["model", "claude-sandbox", "Sandbox"]);
  assertEquals([one.max_input_tokens, one.max_tokens], [32_768, 4_096]);
  assert(!Number.isNaN(Date.parse(one.created_at)));
  const slashed = await client.models.retrieve("anthropic/sandbox");
  assertEquals([slashed.id, slashed.display_name], ["anthropic/sandbox", "anthropic/sandbox"]);
  assertEquals(calls.at(-1)!.url, "http://gateway/oss/v1/models/anthropic%2Fsandbox");
  const error = await assertRejects(async () => await client.models.retrieve("nothing"), Sdk.NotFoundError);
  assertEquals(error.type, "not_found_error");
}, fakeUpstream);

forEachMajor("tokens are counted: system, tools, turns and images together", async ({ client, app }) => {
  const count = async (more: Partial<Anthropic.MessageCountTokensParams>) => {
    const body = { model: "model", messages: [{ role: "user" as const, content: "Hello" }], ...more };
    return (await client.messages.countTokens(body)).input_tokens;
  };
  const least = await count({});
  assert(least > 0);
  const image = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } as const;
  const larger: Partial<Anthropic.MessageCountTokensParams>[] = [
    { system: "Answer in verse." },
    { system: [{ type: "text", text: "Answer in verse." }] },
    { tools: [{ name: "get_weather", input_schema: { type: "object" } }] },
    { messages: [{ role: "user", content: "Hello, and a few words more" }] },
    { messages: [{ role: "user", content: [{ type: "text", text: "Hello" }, { type: "image", source: image }] }] },
  ];
  for (const more of larger) assert(await count(more) > least, JSON.stringify(more));
  assertEquals(app.logs.every(({ status, target }) => status === 200 && target === undefined), true);
}, fakeUpstream);

forEachMajor("tokens of a model that does not chat are not counted", async ({ client }, { Sdk }) => {
  const body = { model: "embedder", messages: [{ role: "user" as const, content: "Hello" }] };
  await assertRejects(async () => await client.messages.countTokens(body), Sdk.UnprocessableEntityError);
}, fakeUpstream);
