/** Shapes of other wires, and options of SDKs, that clients mix into a request: they count as what they mean. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  ask,
  listOf,
  objectOf,
  type RequestRow,
  shortAnswer,
  testRequests,
  type Wire,
  WIRES,
} from "../regressions/support.ts";

const PIXEL = "iVBORw0KGgo=";
const URL = `data:image/png;base64,${PIXEL}`;
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };

const PICTURES: Record<string, JsonObject> = {
  "chat": { type: "image_url", image_url: { url: URL } },
  "chat, the address alone": { type: "image_url", image_url: URL },
  "responses": { type: "input_image", image_url: URL },
  "messages": { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
};

const TOOLS: Record<Wire, JsonObject> = {
  chat: { type: "function", function: { name: "look", description: "Looks", parameters: SCHEMA } },
  messages: { name: "look", description: "Looks", input_schema: SCHEMA },
  responses: { type: "function", name: "look", description: "Looks", parameters: SCHEMA },
};

const FORCED: Record<Wire, JsonObject> = {
  chat: { type: "function", function: { name: "look" } },
  messages: { type: "tool", name: "look" },
  responses: { type: "function", name: "look" },
};

const ANY: Record<string, JsonObject | string> = { chat: "required", messages: { type: "any" }, word: "any" };

/** The same fields for each client, whose turns stand at another place on each wire. */
function everywhere(content: JsonObject[]): RequestRow["bodies"] {
  const turns = [{ role: "user", content }];
  return { chat: { messages: turns }, messages: { messages: turns }, responses: { input: turns } };
}

function alike(fields: JsonObject): RequestRow["bodies"] {
  return { chat: fields, messages: fields, responses: fields };
}

function lastContent(asked: JsonObject): JsonObject[] {
  return listOf(listOf(asked.messages).at(-1)!.content);
}

testRequests([
  ...Object.entries(PICTURES).map(([form, picture]): RequestRow => ({
    id: "F1",
    title: `a picture in the form of ${form} is a picture`,
    bodies: everywhere([{ type: "text", text: "What is it?" }, picture]),
    check: (asked) => assertEquals(lastContent(asked)[1], { type: "image_url", image_url: { url: URL } }),
  })),
  {
    id: "F2",
    title: "a text in the form of responses is a text",
    bodies: everywhere([{ type: "input_text", text: "Hello" }]),
    check: (asked) => assertEquals(listOf(asked.messages).at(-1)!.content as unknown, "Hello"),
  },
  {
    id: "F3",
    title: "a document in the form of messages, and a file in that of chat, are files",
    bodies: everywhere([
      { type: "text", text: "Read" },
      { type: "document", title: "a.pdf", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
      { type: "file", file: { filename: "b.pdf", file_data: "data:application/pdf;base64,BBBB" } },
    ]),
    check: (asked) =>
      assertEquals(lastContent(asked).slice(1), [
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
        { type: "file", file: { filename: "b.pdf", file_data: "data:application/pdf;base64,BBBB" } },
      ]),
  },
  ...WIRES.flatMap((form): RequestRow[] => [
    {
      id: "F4",
      title: `a tool in the form of ${form} is a function`,
      bodies: alike({ tools: [TOOLS[form]] }),
      check: (asked) => {
        const [tool] = listOf(asked.tools);
        const { name, description, parameters } = objectOf(tool!.function);
        assertEquals([listOf(asked.tools).length, name, description, parameters], [1, "look", "Looks", SCHEMA]);
      },
    },
    {
      id: "F5",
      title: `a forced tool in the form of ${form} is forced`,
      bodies: Object.fromEntries(WIRES.map((wire) => [wire, { tools: [TOOLS[wire]], tool_choice: FORCED[form] }])),
      check: (asked) => assertEquals(asked.tool_choice, { type: "function", function: { name: "look" } }),
    },
  ]),
  ...Object.entries(ANY).map(([form, choice]): RequestRow => ({
    id: "F6",
    title: `any tool must be called (${form})`,
    bodies: Object.fromEntries(WIRES.map((wire) => [wire, { tools: [TOOLS[wire]], tool_choice: choice }])),
    check: (asked) => assertEquals(asked.tool_choice, "required"),
  })),
  ...["auto", "none"].map((mode): RequestRow => ({
    id: "F7",
    title: `a mode that comes as an object (${mode})`,
    bodies: Object.fromEntries(WIRES.map((wire) => [wire, { tools: [TOOLS[wire]], tool_choice: { type: mode } }])),
    check: (asked) => assertEquals(asked.tool_choice, mode),
  })),
  {
    id: "F8",
    title: "calls one by one, as the messages wire says it",
    bodies: { chat: { tools: [TOOLS.chat], tool_choice: { type: "auto", disable_parallel_tool_use: true } } },
    check: (asked) => assertEquals(asked.parallel_tool_calls, false),
  },
  {
    id: "F9",
    title: "calls, thoughts and results in the form of messages are calls, thoughts and results",
    bodies: {
      chat: {
        tools: [TOOLS.chat],
        messages: [
          { role: "user", content: "Look" },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Let me see.", signature: "" },
              { type: "text", text: "I look." },
              { type: "tool_use", id: "toolu_1", name: "look", input: { city: "Oslo" } },
            ],
          },
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "toolu_1",
                content: [{ type: "text", text: "Rain" }],
                is_error: true,
              },
              { type: "text", text: "And now?" },
            ],
          },
        ],
      },
    },
    check: (asked) => {
      const [, call, result, next] = listOf(asked.messages);
      const [called] = listOf(call!.tool_calls);
      assertEquals(call!.content as unknown, "I look.");
      assertEquals(objectOf(called!.function), { name: "look", arguments: '{"city":"Oslo"}' });
      assertEquals([result!.role, result!.tool_call_id], ["tool", called!.id]);
      assert(JSON.stringify(result!.content).includes("Rain"));
      assertEquals([next!.role, next!.content as unknown], ["user", "And now?"]);
      assert(!JSON.stringify(asked).includes("tool_use_id"), JSON.stringify(asked));
    },
  },
  {
    id: "F10",
    title: "results alone make no turn of the user",
    bodies: {
      chat: {
        messages: [
          { role: "user", content: "Look" },
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "Rain" }] },
        ],
      },
    },
    check: (asked) => assertEquals(listOf(asked.messages).map(({ role }) => role), ["user", "assistant", "tool"]),
  },
  {
    id: "F11",
    title: "of two tools with one name the first is offered, and the client is told",
    bodies: Object.fromEntries(
      (["chat", "messages"] as const).map((wire) => [wire, { tools: [TOOLS[wire], TOOLS[wire]] }]),
    ),
    check: (asked, { headers }) => {
      assertEquals(listOf(asked.tools).length, 1);
      assertEquals(headers.get("x-laneway-notes"), "dropped the second tool look");
    },
  },
  {
    id: "F12",
    title: "an empty last turn of the assistant begins nothing, and is left out",
    bodies: Object.fromEntries(
      (["chat", "messages"] as const).map((wire) => [
        wire,
        { messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "" }] },
      ]),
    ),
    check: (asked, { headers }) => {
      assertEquals(listOf(asked.messages).map(({ role }) => role), ["user"]);
      assertEquals(headers.get("x-laneway-notes"), "dropped the empty last turn of the assistant");
    },
  },
  {
    id: "F13",
    title: "a last turn that the assistant has begun stays",
    bodies: Object.fromEntries(
      (["chat", "messages"] as const).map((wire) => [
        wire,
        { messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "So" }] },
      ]),
    ),
    check: (asked) => assertEquals(listOf(asked.messages).map(({ role }) => role), ["user", "assistant"]),
  },
  {
    id: "F14",
    title: "the fields of extra_body count, and win",
    bodies: alike({ temperature: 1, extra_body: { temperature: 0.5 } }),
    check: (asked) => assertEquals([asked.temperature, asked.extra_body], [0.5, undefined]),
  },
]);

for (const client of WIRES) {
  for (const upstream of WIRES) {
    Deno.test(`options of an SDK reach no upstream, and the client is told · ${client} to ${upstream}`, async () => {
      const turn = [{ role: "user", content: "Hi" }];
      const body = {
        model: upstream,
        ...(client === "responses" ? { input: turn } : { max_tokens: 9, messages: turn }),
        headers: { authorization: "Bearer own-secret" },
        extra_headers: { "x-key": "own-secret" },
        extra_query: { key: "own-secret" },
        extra_body: "own-secret",
      };
      const { status, headers, upstream: fake } = await ask(client, body, [() => shortAnswer(upstream)]);
      assertEquals(status, 200);
      const [{ body: sent, headers: sentHeaders, url }] = fake.asked as [typeof fake.asked[0]];
      assert(!`${sent} ${JSON.stringify([...sentHeaders])} ${url}`.includes("own-secret"));
      const notes = headers.get("x-laneway-notes") ?? "";
      for (const name of ["headers", "extra_headers", "extra_query", "extra_body"]) {
        assert(notes.includes(`dropped ${name}`), notes);
      }
    });
  }
}

Deno.test("a result in the form of messages that cannot be read is refused, and passed on nowhere", async () => {
  const content = [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: 3 }] }];
  const body = { model: "chat", messages: [{ role: "user", content }] };
  const { status, asked } = await ask("chat", body, [() => shortAnswer("chat")]);
  assertEquals([status, asked.length], [400, 0]);
});
