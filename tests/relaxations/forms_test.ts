/** Forms in which a conversation is asked again, by the words with which servers refuse it as it is. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { CONFIG, listOf, objectOf, PATH, shortAnswer } from "../regressions/support.ts";

interface Case {
  form: string;
  words: readonly string[];
  status?: number;
  /** Whether a server refuses these turns. */
  refuses(turns: readonly JsonObject[]): boolean;
  messages: JsonObject[];
  /** The turns that the server takes in the end. */
  wanted: JsonObject[];
}

const ASKED = { role: "user", content: "a" };
const PICTURE = { type: "image_url", image_url: { url: "https://pictures.test/a.png" } };

const CASES: readonly Case[] = [
  {
    form: "turns joined",
    words: [
      "After the optional system message, conversation roles must alternate user and assistant roles. at row 189, column 164:",
    ],
    status: 500,
    refuses: (turns) => turns.some(({ role }, at) => role === turns[at - 1]?.role),
    messages: [ASKED, { role: "user", content: [{ type: "text", text: "b" }, PICTURE] }],
    wanted: [{ role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }, PICTURE] }],
  },
  {
    form: "turns joined",
    words: ["Conversation roles must alternate user/assistant/user/assistant/...", "consecutive user messages"],
    refuses: (turns) => turns.some(({ role }, at) => role === turns[at - 1]?.role),
    messages: [{ role: "system", content: "S" }, ASKED, { role: "user", content: "b" }],
    wanted: [{ role: "system", content: "S" }, { role: "user", content: "a\n\nb" }],
  },
  {
    form: "system messages in the user turn",
    words: ["Only user, assistant and tool roles are supported, got system."],
    refuses: (turns) => turns.some(({ role }) => role === "system"),
    messages: [{ role: "system", content: "S" }, ASKED],
    wanted: [{ role: "user", content: "S\n\na" }],
  },
];

async function served(message: string, { status = 400, refuses }: Pick<Case, "status" | "refuses">, body: JsonObject) {
  const fake = fakeUpstream((asked) => {
    const refused = refuses(listOf(JSON.parse(asked.body).messages));
    return refused ? Response.json({ error: { message } }, { status }) : shortAnswer("chat");
  });
  const app = newApp({ config: CONFIG, fetch: fake.fetch });
  const response = await app.post(PATH.chat, { model: "chat", ...body }, {});
  assertEquals(response.status, 200, message);
  assert(fake.asked.length <= 3, `${fake.asked.length} calls`);
  const notes = response.headers.get("x-laneway-notes");
  await response.body?.cancel();
  // What was found is kept for the next request.
  await (await app.post(PATH.chat, { model: "chat", ...body }, {})).body?.cancel();
  assertEquals(fake.asked.at(-1)!.body, fake.asked.at(-2)!.body);
  return { sent: JSON.parse(fake.asked.at(-1)!.body), notes };
}

for (const { form, messages, wanted, ...host } of CASES) {
  for (const message of host.words) {
    Deno.test(`${form}: a server that refuses the turns is asked again (${message})`, async () => {
      const { sent, notes } = await served(message, host, { messages });
      assertEquals(sent.messages, wanted);
      assertEquals(notes, `relaxed ${form}: refused by chat`);
    });
  }
}

Deno.test("arguments parsed: a template that reads arguments as an object gets one", async () => {
  const called = (id: string, text: string) => ({
    role: "assistant",
    content: "",
    tool_calls: [{ id, type: "function", function: { name: "f", arguments: text } }],
  });
  const messages = [ASKED, called("c1", '{"city":"Oslo"}'), { role: "tool", tool_call_id: "c1", content: "r" }];
  const argumentsIn = (turn: JsonObject) =>
    listOf(turn.tool_calls ?? []).map((one) => objectOf(one.function).arguments);
  const { sent, notes } = await served("Can only get item pairs from a mapping.", {
    refuses: (turns) => turns.flatMap(argumentsIn).some((one) => typeof one === "string"),
  }, { messages });
  assertEquals((sent.messages as JsonObject[]).flatMap(argumentsIn), [{ city: "Oslo" }]);
  assertEquals(notes, "relaxed arguments parsed: refused by chat");
});

Deno.test("results of tools as texts: a server that takes no pictures in results gets them in a turn of the user", async () => {
  const picture = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
  const called = (id: string) => ({ type: "function_call", call_id: id, name: "view", arguments: "{}" });
  const result = (id: string, output: JsonObject[]) => ({ type: "function_call_output", call_id: id, output });
  const text = { type: "input_text", text: "Here it is" };
  const message = "Output of tool call should be 'Input text'";
  const fake = fakeUpstream(({ body }) =>
    body.includes('"output":[') ? Response.json({ error: { message } }, { status: 400 }) : shortAnswer("responses")
  );
  const app = newApp({ config: CONFIG, fetch: fake.fetch });
  const input = [
    ASKED,
    called("c1"),
    called("c2"),
    result("c1", [text, picture]),
    result("c2", [picture]),
    { role: "user", content: "b" },
  ];
  const response = await app.post(PATH.responses, { model: "responses", input }, {});
  assertEquals([response.status, fake.asked.length], [200, 2]);
  assertEquals(response.headers.get("x-laneway-notes"), "relaxed results of tools as texts: refused by responses");
  await response.body?.cancel();
  const sent = listOf(JSON.parse(fake.asked[1]!.body).input);
  assertEquals(sent.flatMap(({ output }) => output ?? []), ["Here it is", "See the files below"]);
  const from = (id: string) => ({ type: "input_text", text: `From the result of ${id}:` });
  const files = sent[5]!;
  assertEquals(files.role, "user");
  assertEquals(listOf(files.content).map(({ detail: _, ...part }) => part), [from("c1"), picture, from("c2"), picture]);
});
