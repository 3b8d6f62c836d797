import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Asked } from "../support/fake_upstream.ts";
import type { Script } from "../support/script.ts";
import {
  ask,
  bodyFor,
  chatStream,
  chatWhole,
  CONFIG,
  listOf,
  objectOf,
  PATH,
  type RequestRow,
  responseOf,
  shortAnswer,
  testEach,
  testRequests,
  TOOLS,
  type Wire,
  WIRES,
} from "./support.ts";

const HELLO = { role: "user", content: "Hello" };
const PIXEL = "iVBORw0KGgo=";

function messagesIn(asked: JsonObject): JsonObject[] {
  return listOf(asked.messages);
}

/** Who says what, without the fields that only some turns have. */
function talk(asked: JsonObject): [role: JsonValue | undefined, content: JsonValue | undefined][] {
  return messagesIn(asked).map(({ role, content }) => [role, content]);
}

const ANYWHERE = {
  ...CONFIG,
  upstreams: { ...CONFIG.upstreams, chat: { ...CONFIG.upstreams.chat, systemMessages: "anywhere" as const } },
};

/** The messages upstream has a model of the vendor that made the wire. */
const VENDORS = {
  ...CONFIG,
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        messages: { task: "chat" as const, targets: [{ upstream: "messages", model: "claude-opus-5-5" }] },
      },
    },
  },
};

/** The chat upstream keeps prefixes only where it is told to. */
const PASSING = {
  ...CONFIG,
  upstreams: { ...CONFIG.upstreams, chat: { ...CONFIG.upstreams.chat, cacheControl: "pass" as const } },
};

const HINT = { cache_control: { type: "ephemeral" } };

/** Cache hints in all places where the messages wire has them. */
const HINTED: JsonObject = {
  ...HINT,
  system: [{ type: "text", text: "Be kind" }, { type: "text", text: "Be brief", ...HINT }],
  tools: [
    { name: "look", input_schema: { type: "object" } },
    { name: "find", input_schema: { type: "object" }, ...HINT },
  ],
  messages: [
    { role: "user", content: [{ type: "text", text: "Hello" }, { type: "text", text: "Where?", ...HINT }] },
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "toolu_1", name: "look", input: {} },
        { type: "tool_use", id: "toolu_2", name: "find", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "here", ...HINT }] },
        {
          type: "tool_result",
          tool_use_id: "toolu_2",
          content: "gone",
          is_error: true,
          cache_control: { type: "ephemeral", ttl: "1h" },
        },
      ],
    },
  ],
};

const MID_SYSTEM: Record<Wire, JsonObject> = {
  chat: {
    messages: [HELLO, { role: "assistant", content: "Hi" }, { role: "system", content: "Be brief" }, {
      role: "user",
      content: "Go on",
    }],
  },
  messages: {
    messages: [HELLO, { role: "assistant", content: "Hi" }, { role: "system", content: "Be brief" }, {
      role: "user",
      content: "Go on",
    }],
  },
  responses: {
    input: [HELLO, { role: "assistant", content: "Hi" }, { role: "system", content: "Be brief" }, {
      role: "user",
      content: "Go on",
    }],
  },
};

/** A tool that `name` calls, in each wire. */
function oneTool(schema: JsonObject | undefined): Record<Wire, JsonObject> {
  return {
    chat: { tools: [{ type: "function", function: { name: "look", parameters: schema } }] },
    messages: { tools: [{ name: "look", input_schema: schema ?? {} }] },
    responses: { tools: [{ type: "function", name: "look", parameters: schema }] },
  };
}

const BILLING = "x-anthropic-billing-header: cc_version=2.1.0; cch=";

testRequests([
  {
    id: "R30",
    title: "a system message in the middle keeps its place where the upstream takes it",
    bodies: MID_SYSTEM,
    config: ANYWHERE,
    check(asked) {
      assertEquals(talk(asked), [
        ["user", "Hello"],
        ["assistant", "Hi"],
        ["system", "Be brief"],
        ["user", "Go on"],
      ]);
    },
  },
  {
    id: "R30",
    title: "a system message in the middle becomes the user's where the upstream takes none there",
    bodies: { messages: MID_SYSTEM.messages, responses: MID_SYSTEM.responses },
    check(asked) {
      const turns = talk(asked);
      assertEquals(turns.map(([role]) => role), ["user", "assistant", "user"]);
      assert(String(turns[2]![1]).includes("<system-reminder>\nBe brief\n</system-reminder>"), String(turns[2]![1]));
      assert(String(turns[2]![1]).includes("Go on"));
    },
  },
  {
    id: "R30",
    title: "a developer message is an instruction",
    bodies: {
      chat: { messages: [{ role: "developer", content: "Be brief" }, HELLO] },
      messages: { system: "Be brief" },
      responses: { input: [{ role: "developer", content: "Be brief" }, HELLO] },
    },
    check: (asked) => assertEquals(talk(asked), [["system", "Be brief"], ["user", "Hello"]]),
  },
  {
    id: "R31",
    title: "fields that nobody here knows are accepted, and stay away from an upstream of another wire",
    bodies: {
      messages: {
        context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
        output_config: { effort: "high", task_budget: 3 },
        safety_identifier: "x",
        tools: [{
          name: "look",
          input_schema: { type: "object", properties: {} },
          input_examples: [{ a: 1 }],
          eager_input_streaming: true,
          cache_control: { type: "ephemeral", scope: "global", ttl: "1h" },
        }],
        system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral", scope: "global" } }],
      },
    },
    check(asked) {
      const text = JSON.stringify(asked);
      const words = ["context_management", "output_config", "task_budget", "input_examples", "eager_input_streaming"];
      for (const word of [...words, "cache_control", "scope"]) assert(!text.includes(word), word);
    },
  },
  {
    id: "R31",
    title: "fields that nobody here knows reach an upstream of the same wire, with the beta that names them",
    upstream: "messages",
    headers: { "anthropic-beta": "context-management-2025-06-27,effort-2025-11-24" },
    bodies: {
      messages: {
        context_management: { edits: [{ type: "clear_tool_uses_20250919" }, { type: "clear_images_20270101" }] },
        tools: [{
          name: "look",
          input_schema: { type: "object", properties: {} },
          input_examples: [{ a: 1 }],
          defer_loading: true,
        }],
      },
    },
    check(asked, _view, { headers }) {
      // The gateway itself makes the edit that it knows.
      assertEquals(asked.context_management, { edits: [{ type: "clear_images_20270101" }] });
      const [tool] = listOf(asked.tools);
      assertEquals([tool!.input_examples, tool!.defer_loading], [[{ a: 1 }], true]);
      assertEquals(headers.get("anthropic-beta"), "context-management-2025-06-27,effort-2025-11-24");
    },
  },
  {
    id: "R31",
    title: "unknown fields of a chat client reach an upstream of the same wire",
    bodies: { chat: { chat_template_kwargs: { x: 1 }, made_up: true } },
    check: (asked) => assertEquals([asked.chat_template_kwargs, asked.made_up], [{ x: 1 }, true]),
  },
  {
    id: "R31",
    title: "fields of agents that nobody here knows stay away from an upstream of another wire",
    bodies: {
      responses: { client_metadata: { a: "b" }, made_up: { a: 1 }, input: [{ ...HELLO, type: "message", made_up: 1 }] },
      messages: { made_up: { a: 1 }, messages: [{ ...HELLO, made_up: 1 }] },
    },
    check: (asked) => assert(!/made_up|client_metadata/.test(JSON.stringify(asked)), JSON.stringify(asked)),
  },
  {
    id: "R31",
    title: "what nobody here knows how to include is told as missing",
    bodies: {
      responses: { include: ["reasoning.encrypted_content", "file_search_call.results", "made_up"], store: false },
    },
    check: (asked, { headers }) =>
      assertEquals([asked.include, headers.get("x-laneway-notes")], [undefined, "dropped include"]),
  },
  {
    id: "R31",
    title: "what is there anyhow, or nobody could give, is not told as missing",
    bodies: { responses: { include: ["reasoning.encrypted_content", "file_search_call.results"], store: false } },
    check: (_asked, { headers }) => assertEquals(headers.get("x-laneway-notes"), null),
  },
  {
    id: "R31",
    title: "a field that the upstream refuses is left out, and the client is told",
    bodies: {
      chat: { made_up: true },
      messages: { top_k: 3 },
      responses: { safety_identifier: "x", metadata: { a: "b" } },
    },
    config: {
      ...CONFIG,
      upstreams: {
        ...CONFIG.upstreams,
        chat: { ...CONFIG.upstreams.chat, refuses: ["made_up", "top_k", "metadata", "safety_identifier"] },
      },
    },
    check(asked, { headers }) {
      for (const key of ["made_up", "top_k", "metadata", "safety_identifier"]) assertEquals(asked[key], undefined);
      assert(headers.get("x-laneway-notes")?.includes("dropped"));
    },
  },
  {
    id: "R32",
    title: "betas of the messages wire are not told to an upstream of another",
    headers: { "anthropic-beta": "context-management-2025-06-27,made-up" },
    bodies: { chat: {}, messages: {}, responses: {} },
    check: (_asked, _view, { headers }) => assertEquals(headers.get("anthropic-beta"), null),
  },
  {
    id: "R33",
    title: "the changing billing line is not told to an upstream of another wire",
    bodies: {
      messages: {
        system: [
          { type: "text", text: `${BILLING}00001;` },
          { type: "text", text: "Be brief", cache_control: { type: "ephemeral" } },
        ],
      },
    },
    check: (asked) => assertEquals(talk(asked), [["system", "Be brief"], ["user", "Hello"]]),
  },
  {
    id: "R33",
    title: "the changing billing line in front of a text is not told either",
    bodies: { messages: { system: `${BILLING}00002;\nBe brief\nx-anthropic-billing-header: quoted` } },
    check: (asked) =>
      assertEquals(talk(asked), [["system", "Be brief\nx-anthropic-billing-header: quoted"], ["user", "Hello"]]),
  },
  {
    id: "R33",
    title: "the changing billing line is not told to a server of open models that speaks the client's wire",
    upstream: "messages",
    bodies: {
      messages: {
        system: [
          { type: "text", text: `${BILLING}00003;` },
          { type: "text", text: `${BILLING}00003;\nBe kind`, cache_control: { type: "ephemeral" } },
          { type: "text", text: "Be brief" },
        ],
      },
    },
    check: (asked, { headers }) => {
      assertEquals(asked.system, [
        { type: "text", text: "Be kind", cache_control: { type: "ephemeral" } },
        { type: "text", text: "Be brief" },
      ]);
      assertEquals(headers.get("x-laneway-notes"), null);
    },
  },
  {
    id: "R33",
    title: "a system of nothing but the billing line is none",
    upstream: "messages",
    bodies: { messages: { system: `${BILLING}00004;` } },
    check: (asked) => assertEquals(Object.hasOwn(asked, "system"), false),
  },
  {
    id: "R33",
    title: "the billing line goes back to the vendor's own models, who take it out",
    upstream: "messages",
    config: VENDORS,
    bodies: {
      messages: {
        system: [{ type: "text", text: `${BILLING}00005;` }, { type: "text", text: "Be brief" }],
      },
    },
    check: (asked) =>
      assertEquals(asked.system, [{ type: "text", text: `${BILLING}00005;` }, { type: "text", text: "Be brief" }]),
  },
  {
    id: "R34",
    title: "cache hints stay where they are on the way to an upstream that takes them",
    upstream: "messages",
    bodies: {
      messages: {
        system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral" } }],
        tools: [
          { name: "look", input_schema: { type: "object" } },
          { name: "find", input_schema: { type: "object" }, cache_control: { type: "ephemeral", ttl: "1h" } },
        ],
        messages: [
          HELLO,
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
          {
            role: "user",
            content: [{
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [{ type: "text", text: "here", cache_control: { type: "ephemeral" } }],
              cache_control: { type: "ephemeral" },
            }],
          },
        ],
      },
    },
    check(asked) {
      const [system] = listOf(asked.system);
      const [look, find] = listOf(asked.tools);
      const [result] = listOf(messagesIn(asked)[2]!.content);
      assertEquals(system!.cache_control, { type: "ephemeral" });
      assertEquals([look!.cache_control, find!.cache_control], [undefined, { type: "ephemeral", ttl: "1h" }]);
      assertEquals(result!.cache_control, { type: "ephemeral" });
      assertEquals(listOf(result!.content)[0]!.cache_control, { type: "ephemeral" });
    },
  },
  {
    id: "R34",
    title: "cache hints of a chat client reach an upstream of the same wire",
    bodies: {
      chat: {
        messages: [{
          role: "user",
          content: [{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }],
        }],
      },
    },
    check: (asked) => assertEquals(listOf(messagesIn(asked)[0]!.content)[0]!.cache_control, { type: "ephemeral" }),
  },
  {
    id: "R34",
    title: "cache hints go to a chat upstream that takes them, where such servers look for them",
    config: PASSING,
    bodies: { messages: HINTED },
    check(asked, { headers }) {
      const text = (text: string) => ({ type: "text", text });
      assertEquals(talk(asked), [
        ["system", [text("Be kind"), { ...text("Be brief"), ...HINT }]],
        ["user", [text("Hello"), { ...text("Where?"), ...HINT }]],
        ["assistant", null],
        ["tool", [{ ...text("here"), ...HINT }]],
        ["tool", [{ ...text("Error: gone"), cache_control: { type: "ephemeral", ttl: "1h" } }]],
      ]);
      assertEquals(messagesIn(asked).map(({ cache_control }) => cache_control), new Array(5).fill(undefined));
      assertEquals(listOf(asked.tools).map(({ cache_control }) => cache_control), [undefined, HINT.cache_control]);
      assertEquals(asked.cache_control, HINT.cache_control);
      assertEquals(headers.get("x-laneway-notes"), null);
    },
  },
  {
    id: "R34",
    title: "cache hints are no riddle to a chat upstream that keeps prefixes by itself",
    bodies: { messages: HINTED },
    check(asked, { headers }) {
      assert(!JSON.stringify(asked).includes("cache_control"));
      assertEquals(talk(asked).slice(0, 2), [["system", "Be kind\n\nBe brief"], ["user", "Hello\n\nWhere?"]]);
      assertEquals(headers.get("x-laneway-notes"), "dropped cache_control");
    },
  },
  {
    id: "R34",
    title: "cache hints of a chat client reach an upstream of the messages wire, where that looks for them",
    upstream: "messages",
    bodies: {
      chat: {
        tools: [{ type: "function", function: { name: "look" }, cache_control: { type: "ephemeral" } }],
        messages: [
          { role: "system", content: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral" } }] },
          { ...HELLO, cache_control: { type: "ephemeral" } },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "toolu_1", type: "function", function: { name: "look", arguments: "{}" } }],
          },
          {
            role: "tool",
            tool_call_id: "toolu_1",
            content: [{ type: "text", text: "here", cache_control: { type: "ephemeral" } }],
          },
        ],
      },
    },
    check(asked, { headers }) {
      assertEquals(asked.system, [{ type: "text", text: "Be brief", ...HINT }]);
      assertEquals(listOf(asked.tools)[0]!.cache_control, HINT.cache_control);
      assertEquals(messagesIn(asked)[0], { role: "user", content: [{ type: "text", text: "Hello", ...HINT }] });
      assertEquals(messagesIn(asked).at(-1)!.content, [
        { type: "tool_result", tool_use_id: "toolu_1", content: "here", ...HINT },
      ]);
      assertEquals(headers.get("x-laneway-notes"), null);
    },
  },
  ...(["chat", "messages", "responses"] as const).map((upstream): RequestRow => ({
    id: "R34",
    title: `what else clients say of caches reaches a ${upstream} upstream, or they hear that it did not`,
    upstream,
    bodies: {
      chat: {
        prompt_cache_key: "k",
        prompt_cache_retention: "24h",
        prompt_cache_options: { mode: "explicit" },
        messages: [{ role: "user", content: [{ type: "text", text: "Hello", prompt_cache_breakpoint: {} }] }],
      },
      responses: {
        prompt_cache_key: "k",
        prompt_cache_retention: "24h",
        prompt_cache_options: { mode: "explicit" },
        input: [{ role: "user", content: [{ type: "input_text", text: "Hello", prompt_cache_breakpoint: {} }] }],
      },
    },
    check(asked, { headers }, _call, client) {
      const notes = headers.get("x-laneway-notes") ?? "";
      const body = JSON.stringify(asked);
      const own = ["prompt_cache_retention", "prompt_cache_options", "prompt_cache_breakpoint"];
      const supported = [...(upstream === "messages" ? [] : ["prompt_cache_key"]), ...(client === upstream ? own : [])];
      for (const field of ["prompt_cache_key", ...own]) {
        const isSupported = supported.includes(field);
        assertEquals(
          [body.includes(`"${field}"`), notes.includes(`dropped ${field}`)],
          [isSupported, !isSupported],
          field,
        );
      }
    },
  })),
  {
    id: "R36",
    title: "a picture in a tool's result is a picture upstream",
    bodies: {
      chat: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "toolu_1", type: "function", function: { name: "look", arguments: "{}" } }],
          },
          {
            role: "tool",
            tool_call_id: "toolu_1",
            content: [
              { type: "text", text: "a cat" },
              { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
            ],
          },
        ],
      },
      messages: {
        messages: [
          HELLO,
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
          {
            role: "user",
            content: [{
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [
                { type: "text", text: "a cat" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
              ],
            }],
          },
        ],
      },
      responses: {
        input: [
          HELLO,
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "toolu_1",
            output: [
              { type: "input_text", text: "a cat" },
              { type: "input_image", image_url: `data:image/png;base64,${PIXEL}` },
            ],
          },
        ],
      },
    },
    check(asked) {
      const [, , result, after] = messagesIn(asked);
      assertEquals([result!.role, result!.tool_call_id, result!.content], ["tool", "toolu_1", "a cat"]);
      assertEquals(after!.role, "user");
      const picture = listOf(after!.content).find(({ type }) => type === "image_url")!;
      assertEquals(objectOf(picture.image_url).url, `data:image/png;base64,${PIXEL}`);
      assert(!JSON.stringify(asked).replace(`data:image/png;base64,${PIXEL}`, "").includes(PIXEL));
    },
  },
  {
    id: "R36",
    title: "a picture in a tool's result stays in it where the upstream has a place for it",
    upstream: "messages",
    bodies: {
      responses: {
        input: [
          HELLO,
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "toolu_1",
            output: [{ type: "input_image", image_url: `data:image/png;base64,${PIXEL}` }],
          },
        ],
      },
    },
    check(asked) {
      const [result] = listOf(messagesIn(asked)[2]!.content);
      assertEquals(listOf(result!.content), [
        { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
      ]);
    },
  },
  {
    id: "R37",
    title: "a failed call is told as failed",
    bodies: {
      messages: {
        messages: [
          HELLO,
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "no such file", is_error: true }],
          },
        ],
      },
    },
    check: (asked) => assertEquals(messagesIn(asked)[2]!.content, "Error: no such file"),
  },
  {
    id: "R38",
    title: "a result that nothing called for is told in words",
    bodies: {
      messages: {
        messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "here" }] }],
      },
      responses: { input: [{ type: "function_call_output", call_id: "toolu_1", output: "here" }] },
    },
    check(asked, { headers }) {
      assertEquals(messagesIn(asked).map(({ role }) => role), ["user"]);
      assert(JSON.stringify(messagesIn(asked)[0]!.content).includes("here"));
      assert(headers.get("x-laneway-notes")?.includes("toolu_1"));
    },
  },
  {
    id: "R38",
    title: "a call that nothing answered is answered as not done",
    bodies: {
      messages: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: [
              { type: "tool_use", id: "toolu_1", name: "look", input: {} },
              { type: "tool_use", id: "toolu_2", name: "find", input: {} },
            ],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "here" }] },
        ],
      },
      responses: {
        input: [
          HELLO,
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          { type: "function_call", call_id: "toolu_2", name: "find", arguments: "{}" },
          { type: "function_call_output", call_id: "toolu_1", output: "here" },
        ],
      },
    },
    check(asked, { headers }) {
      const results = messagesIn(asked).filter(({ role }) => role === "tool");
      assertEquals(results.map(({ tool_call_id }) => tool_call_id), ["toolu_1", "toolu_2"]);
      assertEquals(results[0]!.content, "here");
      assertNotEquals(results[1]!.content, "");
      assert(headers.get("x-laneway-notes")?.includes("toolu_2"));
    },
  },
  {
    id: "R38",
    title: "an id that two turns share belongs to each turn's own result",
    bodies: {
      messages: {
        messages: [
          HELLO,
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "one" }] },
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "two" }] },
        ],
      },
      responses: {
        input: [
          HELLO,
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: "toolu_1", output: "one" },
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: "toolu_1", output: "two" },
        ],
      },
    },
    check(asked, { headers }) {
      assertEquals(messagesIn(asked).map(({ role }) => role), ["user", "assistant", "tool", "assistant", "tool"]);
      assertEquals(messagesIn(asked).filter(({ role }) => role === "tool").map(({ content }) => content), [
        "one",
        "two",
      ]);
      assertEquals(headers.get("x-laneway-notes"), null);
    },
  },
  {
    id: "R38",
    title: "calls of one turn that share an id keep their results",
    bodies: {
      messages: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: ["look", "find"].map((name) => ({ type: "tool_use", id: "toolu_1", name, input: {} })),
          },
          {
            role: "user",
            content: ["one", "two"].map((content) => ({ type: "tool_result", tool_use_id: "toolu_1", content })),
          },
        ],
      },
      responses: {
        input: [
          HELLO,
          ...["look", "find"].map((name) => ({ type: "function_call", call_id: "toolu_1", name, arguments: "{}" })),
          ...["one", "two"].map((output) => ({ type: "function_call_output", call_id: "toolu_1", output })),
        ],
      },
      chat: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: null,
            tool_calls: ["look", "find"].map((name) => ({
              id: "toolu_1",
              type: "function",
              function: { name, arguments: "{}" },
            })),
          },
          ...["one", "two"].map((content) => ({ role: "tool", tool_call_id: "toolu_1", content })),
        ],
      },
    },
    check(asked, { headers }) {
      const [called, ...results] = messagesIn(asked).slice(1);
      const ids = listOf(called!.tool_calls).map(({ id }) => String(id));
      assertEquals(new Set(ids).size, 2);
      assertEquals(results.map(({ role, tool_call_id, content }) => [role, tool_call_id, content]), [
        ["tool", ids[0], "one"],
        ["tool", ids[1], "two"],
      ]);
      assert(headers.get("x-laneway-notes")?.includes("renamed a call"));
    },
  },
  {
    id: "R39",
    title: "results of tools come before what the user says in the same turn",
    bodies: {
      messages: {
        messages: [
          HELLO,
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
          {
            role: "user",
            content: [{ type: "text", text: "Also this" }, {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: "here",
            }],
          },
        ],
      },
      responses: {
        input: [
          HELLO,
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          { role: "user", content: "Also this" },
          { type: "function_call_output", call_id: "toolu_1", output: "here" },
        ],
      },
    },
    check(asked) {
      assertEquals(talk(asked).slice(2), [["tool", "here"], ["user", "Also this"]]);
      assertEquals(messagesIn(asked)[2]!.tool_call_id, "toolu_1");
    },
  },
  ...[undefined, {}, { type: "object" }, { properties: {} }].map((schema) => ({
    id: "R41",
    title: `a tool whose schema is ${JSON.stringify(schema) ?? "absent"} has an object schema upstream`,
    bodies: {
      messages: { tools: [{ name: "look", input_schema: schema ?? {} }] },
      responses: oneTool(schema).responses,
    },
    check(asked: JsonObject) {
      const parameters = objectOf(objectOf(listOf(asked.tools)[0]!.function).parameters);
      assertEquals([parameters.type, parameters.properties], ["object", {}]);
    },
  })),
  {
    id: "R41",
    title: "a tool that spells its schema inputSchema has it upstream",
    bodies: {
      messages: { tools: [{ name: "look", inputSchema: { type: "object", properties: { a: { type: "string" } } } }] },
    },
    check(asked) {
      const { parameters } = objectOf(objectOf(listOf(asked.tools)[0]).function);
      assertEquals(parameters, { type: "object", properties: { a: { type: "string" } } });
    },
  },
  {
    id: "R41",
    title: "a tool whose schema is no object does not spoil the others",
    bodies: {
      messages: {
        tools: [
          { name: "odd", input_schema: { type: "string" } },
          { name: "look", input_schema: { type: "object", properties: {} } },
        ],
      },
    },
    check(asked) {
      const described = listOf(asked.tools).map((tool) => objectOf(objectOf(tool).function));
      for (const { parameters } of described) assertEquals(objectOf(parameters).type, "object");
      assertEquals(described.map(({ name }) => name), ["odd", "look"]);
    },
  },
  {
    id: "R41",
    title: "strict is said of a tool where the client says it",
    bodies: oneTool({ type: "object", properties: {} }),
    check(asked, _view, _call, client) {
      // On the responses wire a tool is strict unless the client says otherwise, which few upstreams bear.
      const { strict } = objectOf(listOf(asked.tools)[0]!.function);
      assert(client === "responses" || strict === undefined, String(strict));
    },
  },
  {
    id: "R42",
    title: "tools that a vendor's servers run are left out for other upstreams, and the client is told",
    bodies: {
      messages: {
        tools: [
          { type: "web_search_20250305", name: "web_search" },
          { name: "look", input_schema: { type: "object", properties: {} } },
        ],
      },
      responses: {
        tools: [{ type: "web_search" }, { type: "image_generation" }, {
          type: "function",
          name: "look",
          parameters: {},
        }],
      },
    },
    check(asked, { headers }) {
      assertEquals(listOf(asked.tools).map(({ function: of }) => objectOf(of).name), ["look"]);
      assert(headers.get("x-laneway-notes")?.includes("web_search"));
    },
  },
  {
    id: "R43",
    title: "the limit of tokens is the client's own",
    bodies: { chat: { max_tokens: 50 }, messages: { max_tokens: 50 }, responses: { max_output_tokens: 50 } },
    check: (asked) => assertEquals(asked.max_tokens, 50),
  },
  {
    id: "R44",
    title: "an assistant's turn of calls alone has null for its text",
    bodies: {
      messages: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "here" }] },
        ],
      },
      responses: {
        input: [
          HELLO,
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: "toolu_1", output: "here" },
        ],
      },
      chat: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "toolu_1", type: "function", function: { name: "look", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: "toolu_1", content: "here" },
        ],
      },
    },
    check: (asked) => assertEquals(messagesIn(asked)[1]!.content, null),
  },
  {
    id: "R44",
    title: "an empty text beside calls is null",
    bodies: {
      messages: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: [{ type: "text", text: "" }, { type: "tool_use", id: "toolu_1", name: "look", input: {} }],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "here" }] },
        ],
      },
      responses: {
        input: [
          HELLO,
          { role: "assistant", content: [{ type: "output_text", text: "", annotations: [] }] },
          { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: "toolu_1", output: "here" },
        ],
      },
      chat: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: [{ type: "text", text: "" }],
            tool_calls: [{ id: "toolu_1", type: "function", function: { name: "look", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: "toolu_1", content: "here" },
        ],
      },
    },
    check: (asked) => assertEquals(messagesIn(asked)[1]!.content, null),
  },
  {
    id: "R44",
    title: "no empty text reaches an upstream of the messages wire",
    upstream: "messages",
    bodies: {
      messages: {
        messages: [
          HELLO,
          { role: "assistant", content: [{ type: "text", text: "" }] },
          HELLO,
          {
            role: "assistant",
            content: [{ type: "text", text: "" }, { type: "tool_use", id: "toolu_1", name: "look", input: {} }],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "here" }] },
        ],
      },
      chat: {
        messages: [
          HELLO,
          {
            role: "assistant",
            content: "",
            tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "" } }],
          },
          { role: "tool", tool_call_id: "call_1", content: "" },
          { role: "user", content: [{ type: "text", text: " " }, { type: "text", text: "Go on" }] },
        ],
      },
      responses: {
        input: [
          HELLO,
          { role: "assistant", content: [{ type: "output_text", text: "", annotations: [] }] },
          { role: "user", content: [{ type: "input_text", text: "" }, { type: "input_text", text: "Go on" }] },
        ],
      },
    },
    check(asked) {
      for (const { content } of messagesIn(asked)) {
        const texts = typeof content === "string" ? [content] : listOf(content).filter(({ type }) => type === "text")
          .map(({ text }) => String(text));
        for (const text of texts) assertNotEquals(text.trim(), "");
        assertNotEquals(content, []);
      }
    },
  },
  {
    id: "R45",
    title: "a document reaches the upstream as a file",
    bodies: {
      chat: {
        messages: [{
          role: "user",
          content: [
            { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
            { type: "text", text: "Read it" },
          ],
        }],
      },
      messages: {
        messages: [{
          role: "user",
          content: [
            {
              type: "document",
              title: "a.pdf",
              source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
            },
            { type: "text", text: "Read it" },
          ],
        }],
      },
      responses: {
        input: [{
          role: "user",
          content: [
            { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            { type: "input_text", text: "Read it" },
          ],
        }],
      },
    },
    check(asked) {
      const [file] = listOf(messagesIn(asked)[0]!.content);
      assertEquals(file, {
        type: "file",
        file: { file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" },
      });
    },
  },
  {
    id: "R45",
    title: "a document of text is text",
    bodies: {
      messages: {
        messages: [{
          role: "user",
          content: [
            { type: "document", source: { type: "text", media_type: "text/plain", data: "The sky is blue" } },
            { type: "text", text: "Read it" },
          ],
        }],
      },
    },
    check: (asked) => assert(JSON.stringify(messagesIn(asked)[0]!.content).includes("The sky is blue")),
  },
  {
    id: "R46",
    title: "nothing is asked that the client did not ask",
    bodies: { chat: {}, messages: {}, responses: {} },
    check(asked, _view, _call, client) {
      const keys = ["messages", "model", ...(client === "messages" ? ["max_tokens"] : [])];
      assertEquals(Object.keys(asked).sort(), keys.sort());
    },
  },
  {
    id: "R47",
    title: "one call at a time is asked for as the chat wire spells it",
    bodies: {
      chat: { ...oneTool({ type: "object" }).chat, tool_choice: "required", parallel_tool_calls: false },
      messages: {
        ...oneTool({ type: "object" }).messages,
        tool_choice: { type: "any", disable_parallel_tool_use: true },
      },
      responses: { ...oneTool({ type: "object" }).responses, tool_choice: "required", parallel_tool_calls: false },
    },
    check: (asked) => assertEquals([asked.tool_choice, asked.parallel_tool_calls], ["required", false]),
  },
  {
    id: "R47",
    title: "no call is asked for as the chat wire spells it",
    bodies: {
      chat: { ...oneTool({ type: "object" }).chat, tool_choice: "none" },
      messages: { ...oneTool({ type: "object" }).messages, tool_choice: { type: "none" } },
      responses: { ...oneTool({ type: "object" }).responses, tool_choice: "none" },
    },
    check: (asked) => assertEquals(asked.tool_choice, "none"),
  },
  {
    id: "R47",
    title: "a certain call is asked for as the chat wire spells it",
    bodies: {
      chat: {
        ...oneTool({ type: "object" }).chat,
        tool_choice: { type: "function", function: { name: "look" } },
      },
      messages: { ...oneTool({ type: "object" }).messages, tool_choice: { type: "tool", name: "look" } },
      responses: { ...oneTool({ type: "object" }).responses, tool_choice: { type: "function", name: "look" } },
    },
    check: (asked) => assertEquals(asked.tool_choice, { type: "function", function: { name: "look" } }),
  },
]);

testEach("R30", "tokens are counted of a conversation with system messages in its middle", {
  clients: ["messages"],
  modes: ["whole"],
}, async () => {
  const { app } = await ask("messages", bodyFor("messages"), [() => shortAnswer("chat")]);
  const response = await app.post("/oss/v1/messages/count_tokens", { model: "chat", ...MID_SYSTEM.messages });
  const { input_tokens } = await response.json();
  assert(response.status === 200 && input_tokens > 0);
});

testEach("R33", "requests that differ in the billing line only are the same upstream", {
  clients: ["messages"],
  modes: ["whole"],
}, async () => {
  const bodies = ["00001;", "00002;"].map((cch) => ({
    ...bodyFor("messages"),
    system: [{ type: "text", text: BILLING + cch }, { type: "text", text: "Be brief" }],
  }));
  const sent = await Promise.all(bodies.map(async (body) => {
    const { upstream } = await ask("messages", body, [() => shortAnswer("chat")]);
    return upstream.asked[0]!.body;
  }));
  assertEquals(sent[0], sent[1]);
});

const CONVERSATION: Partial<Script> = {
  system: "Be brief",
  tools: TOOLS,
  turns: [
    {
      asked: "Where?",
      pictures: [PIXEL],
      thought: "hm",
      answered: "Let me see",
      calls: [{ id: "call_1", name: "look", input: { b: 1, a: [2] }, result: "here", failed: true }],
    },
    { asked: "And now?", pictures: [], thought: undefined, answered: undefined, calls: [] },
  ],
};

for (const upstream of ["chat", "messages", "responses"] as const) {
  testEach(
    "R35",
    `the same request is the same bytes for an upstream of the ${upstream} wire`,
    {},
    async (client, mode) => {
      const body = bodyFor(client, { ...CONVERSATION, stream: mode === "streamed" }, upstream);
      const sent: string[] = [];
      for (let turn = 0; turn < 2; turn++) {
        const later = { now: () => 1_900_000_000_000 + turn * 86_400_000, newId: () => `id${turn}` };
        const { upstream: fake } = await ask(client, body, [() => shortAnswer(upstream)], later);
        const [{ body: bytes, headers }] = fake.asked as [Asked];
        sent.push(JSON.stringify([bytes, ...headers]));
      }
      assertEquals(sent[0], sent[1]);
    },
  );

  testEach(
    "R35",
    `a response that is continued begins with the same bytes for an upstream of the ${upstream} wire`,
    { clients: ["responses"], modes: ["whole"] },
    async () => {
      const { app, body, upstream: fake } = await ask("responses", {
        ...bodyFor("responses", CONVERSATION, upstream),
        store: true,
      }, [() => shortAnswer(upstream)]);
      for (const input of ["And then?", "And after that?"]) {
        const previous_response_id = body.id;
        const { instructions, tools } = bodyFor("responses", CONVERSATION, upstream);
        const more = { model: upstream, instructions, tools, input, previous_response_id };
        body.id = (await app.post(PATH.responses, more).then((one) => one.json())).id;
      }
      const turns = fake.asked.map(({ body }) => {
        const { messages, input } = JSON.parse(body);
        return (messages ?? input).map((turn: JsonValue) => JSON.stringify(turn));
      });
      assertEquals(turns.length, 3);
      for (const [at, next] of turns.slice(1).entries()) {
        assert(next.length > turns[at].length);
        assertEquals(next.slice(0, turns[at].length), turns[at]);
      }
    },
  );
}

testEach("R35", "the same relayed request is the same bytes", { clients: ["chat"], modes: ["whole"] }, async () => {
  const sent = await Promise.all([0, 1].map(async (turn) => {
    const later = { now: () => 1_900_000_000_000 + turn * 86_400_000, newId: () => `id${turn}` };
    const body = { ...bodyFor("chat"), n: 2 };
    const { upstream } = await ask("chat", body, [() => shortAnswer("chat")], later);
    return upstream.asked[0]!.body;
  }));
  assertEquals(sent[0], sent[1]);
});

const FORCED: Partial<Record<Wire, JsonObject>> = {
  messages: {
    tools: [{ type: "web_search_20250305", name: "web_search" }],
    tool_choice: { type: "tool", name: "web_search" },
  },
  responses: { tools: [{ type: "web_search" }], tool_choice: { type: "web_search" } },
};

/** Where a wire can tell that a tool failed, it does; no model is asked to answer without it. */
function assertFailed(client: Wire, { status, asked, body, error }: Awaited<ReturnType<typeof ask>>): void {
  assertEquals([status, asked], [client === "chat" ? 400 : 200, []]);
  const shown = { messages: body.content, responses: body.output, chat: error?.message }[client];
  assertMatch(JSON.stringify(shown), /"unavailable"|"failed"|no upstream of model .* runs tool/);
}

testEach("R42", "a tool that nobody here runs fails where it is forced", {
  clients: ["messages", "responses"],
  modes: ["whole"],
}, async (client) => {
  const body = { ...bodyFor(client), ...FORCED[client] };
  assertFailed(client, await ask(client, body, [() => shortAnswer("chat")]));
});

const REQUIRED: Record<Wire, JsonObject> = {
  chat: { tools: [{ type: "web_search" }], tool_choice: "required" },
  messages: { ...FORCED.messages, tool_choice: { type: "any" } },
  responses: {
    ...FORCED.responses,
    tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "web_search" }] },
  },
};

for (const upstream of WIRES) {
  testEach("R42", `so it is where one must be called, with a ${upstream} upstream`, {
    clients: WIRES.filter((client) => client !== upstream),
    modes: ["whole"],
  }, async (client) => {
    const body = { ...bodyFor(client, {}, upstream), ...REQUIRED[client] };
    assertFailed(client, await ask(client, body, [() => shortAnswer(upstream)]));
  });
}

testEach("R42", "a custom tool is a function of one text upstream, and custom again for its client", {
  clients: ["responses"],
}, async (client, mode) => {
  const body = {
    ...bodyFor(client, { stream: mode === "streamed" }),
    tools: [{ type: "custom", name: "apply_patch", description: "Applies a patch" }],
  };
  const called = {
    id: "call_1",
    type: "function",
    function: { name: "apply_patch", arguments: '{"input":"*** Begin"}' },
  };
  const { asked, body: whole, frames } = await ask(client, body, [() =>
    responseOf({
      whole: chatWhole({ content: null, tool_calls: [called] }, "tool_calls"),
      frames: chatStream([{ tool_calls: [{ index: 0, ...called }] }], "tool_calls"),
    }, mode)]);
  const { parameters } = objectOf(listOf(asked[0]!.tools)[0]!.function);
  assertEquals(Object.keys(objectOf(objectOf(parameters).properties)), ["input"]);
  const response = mode === "whole" ? whole : objectOf(JSON.parse(frames.at(-2)!.data!).response);
  const [item] = listOf(response.output);
  assertEquals([item!.type, item!.name, item!.input], ["custom_tool_call", "apply_patch", "*** Begin"]);
});

testEach("R42", "tools of a namespace are functions upstream, and in their namespace again for the client", {
  clients: ["responses"],
}, async (client, mode) => {
  const body = {
    ...bodyFor(client, { stream: mode === "streamed" }),
    tools: [{
      type: "namespace",
      name: "mcp__files",
      description: "Files",
      tools: [{ type: "function", name: "read", parameters: { type: "object", properties: {} } }],
    }],
  };
  const { asked, body: whole, frames } = await ask(client, body, [({ body }) => {
    const { name } = objectOf(listOf(JSON.parse(body).tools)[0]!.function);
    const called = { id: "call_1", type: "function", function: { name: name!, arguments: "{}" } };
    return responseOf({
      whole: chatWhole({ content: null, tool_calls: [called] }, "tool_calls"),
      frames: chatStream([{ tool_calls: [{ index: 0, ...called }] }], "tool_calls"),
    }, mode);
  }]);
  assertEquals(listOf(asked[0]!.tools).map(({ type }) => type), ["function"]);
  const response = mode === "whole" ? whole : objectOf(JSON.parse(frames.at(-2)!.data!).response);
  const [item] = listOf(response.output);
  assertEquals([item!.type, item!.namespace, item!.name], ["function_call", "mcp__files", "read"]);
});

const ENCODERS = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync };

for (const [encoding, encode] of Object.entries(ENCODERS)) {
  testEach("R48", `a body in ${encoding} is read`, { modes: ["whole"] }, async (client) => {
    const { app, upstream } = await ask(client, bodyFor(client), [() => shortAnswer("chat")]);
    const send = (body: Uint8Array<ArrayBuffer>, headers: HeadersInit) =>
      app.fetch(new Request(`http://gateway${PATH[client]}`, { method: "POST", headers, body }));
    const bytes = new Uint8Array(encode(JSON.stringify(bodyFor(client))));
    const response = await send(bytes, { "content-encoding": encoding });
    assertEquals(response.status, 200);
    await response.body?.cancel();
    assertEquals(upstream.asked[1]!.body, upstream.asked[0]!.body);
    assertEquals(upstream.asked[1]!.headers.get("content-encoding"), null);
    const corrupt = await send(bytes.map((byte, at) => at > 8 ? byte ^ 0x55 : byte), {
      "content-encoding": encoding,
    });
    assertEquals(corrupt.status, 400);
    await corrupt.body?.cancel();
    assertEquals(upstream.asked.length, 2);
  });
}

for (const encoding of ["gzip", "zstd"] as const) {
  testEach(
    "R48",
    `a body in ${encoding} is read by what it begins with where no header says so`,
    { modes: ["whole"] },
    async (client) => {
      const { app, upstream } = await ask(client, bodyFor(client), [() => shortAnswer("chat")]);
      const body = new Uint8Array(ENCODERS[encoding](JSON.stringify(bodyFor(client))));
      const response = await app.fetch(new Request(`http://gateway${PATH[client]}`, { method: "POST", body }));
      assertEquals(response.status, 200);
      await response.body?.cancel();
      assertEquals(upstream.asked[1]!.body, upstream.asked[0]!.body);
    },
  );
}

testEach("R48", "a body that grows beyond the limit is refused", { modes: ["whole"] }, async (client) => {
  const { app } = await ask(client, bodyFor(client), [() => shortAnswer("chat")]);
  const body = new Uint8Array(gzipSync(JSON.stringify({ ...bodyFor(client), bomb: " ".repeat(40 * 2 ** 20) })));
  const request = { method: "POST", headers: { "content-encoding": "gzip" }, body };
  const response = await app.fetch(new Request(`http://gateway${PATH[client]}`, request));
  assertEquals(response.status, 413);
  await response.body?.cancel();
});
