/** Servers that refuse a part of a request which another one wants: the content of a turn that only calls, and forms of answers. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { ask, bodyFor, chatStream, chatWhole, HEADERS, HELLO, PATH, responseOf, testEach, TOOLS } from "./support.ts";

/** As Python prints pydantic's list, in an error of llama-cpp-python. */
const python = (loc: string, msg: string, input: string) =>
  `1 validation error:\n  {'type': 'x', 'loc': ('body', ${loc}), 'msg': ${msg}, 'input': ${input}}`;
const error = (message: string, status: number) => () =>
  Response.json({ error: { message, type: "internal_server_error", param: null, code: null } }, { status });

const NO_NULL = {
  "llama-cpp-python, 500": error(
    python("'messages', 1, 'typed-dict', 'content'", "'Input should be a valid string'", "None"),
    500,
  ),
  "a union's list, 500": error(
    `[{'type': 'literal_error', 'loc': ('body', 'messages', 1, 'role'), 'msg': "Input should be 'user'", 'input': ` +
      `'assistant'}, {'type': 'string_type', 'loc': ('body', 'messages', 1, 'content', 'str'), 'msg': ` +
      `'Input should be a valid string', 'input': None}]`,
    500,
  ),
  "FastAPI, 422": () =>
    Response.json({
      detail: [{
        type: "string_type",
        loc: ["body", "messages", 1, "content"],
        msg: "Input should be a valid string",
        input: null,
      }],
    }, { status: 422 }),
  "in words, 400": error("messages[1].content: expected a string, got null", 400),
  "in other words, 400": error("'content' cannot be null for assistant messages", 400),
  "by a schema, 400": error("None is not of type 'string' - 'messages.1.content'", 400),
};
const NO_EMPTY = {
  "pydantic's words": error(
    python("'messages', 1, 'content'", "'String should have at least 1 character'", "''"),
    500,
  ),
  "in words": error("message content must not be empty", 400),
};

const CALLED = {
  turns: [
    {
      asked: "Look",
      pictures: [],
      thought: undefined,
      answered: undefined,
      calls: [{ id: "call_1", name: "look", input: { a: 1 }, result: "seen", failed: false }],
    },
    { asked: "And now?", pictures: [], thought: undefined, answered: undefined, calls: [] },
  ],
  tools: TOOLS,
};

/** What the turn that called has for its content: `absent` where it has none. */
function contentIn({ messages }: JsonObject): unknown {
  const turn = (messages as JsonObject[]).find(({ tool_calls }) => tool_calls)!;
  return "content" in turn ? turn.content : "absent";
}

for (const [who, refusal] of Object.entries(NO_NULL)) {
  testEach("E35", `null beside calls is tried as an empty text, and remembered: ${who}`, {}, async (client, mode) => {
    const body = bodyFor(client, { ...CALLED, stream: mode === "streamed" });
    const well = () => responseOf(HELLO, mode);
    const { upstream, app, status, said, headers } = await ask(client, body, [refusal, well, well]);
    assertEquals([status, said, headers.get("x-laneway-notes")], [200, [{ text: "Hi" }], null]);
    const again = await app.post(PATH[client], body, HEADERS[client]);
    await again.body?.cancel();
    assertEquals(upstream.asked.map(({ body }) => contentIn(JSON.parse(body))), [null, "", ""]);
  });
}

for (const [who, refusal] of Object.entries(NO_EMPTY)) {
  testEach("E35", `who refuses an empty text, too, gets none: ${who}`, {}, async (client, mode) => {
    const body = bodyFor(client, { ...CALLED, stream: mode === "streamed" });
    const answers = [NO_NULL["llama-cpp-python, 500"], refusal, () => responseOf(HELLO, mode)];
    const { asked, status } = await ask(client, body, answers);
    assertEquals([status, asked.map(contentIn)], [200, [null, "", "absent"]]);
  });
}

testEach("E35", "a refusal that stays one is told, and no conversation is asked for ever", {}, async (client, mode) => {
  const body = bodyFor(client, { ...CALLED, stream: mode === "streamed" });
  const { asked, status } = await ask(client, body, [NO_NULL["llama-cpp-python, 500"]]);
  assertEquals([status, asked.map(contentIn)], [502, [null, ""]]);
});

testEach("E35", "a failure that names nothing of the request is posted once", {}, async (client, mode) => {
  const body = bodyFor(client, { ...CALLED, stream: mode === "streamed" });
  for (const message of ["CUDA error", "content is None", "'NoneType' object has no attribute 'content'"]) {
    const { asked, status } = await ask(client, body, [error(message, 500)]);
    assertEquals([status, asked.length], [502, 1], message);
  }
});

const NO_FORM = python("'response_format', 'type'", `"Input should be 'text' or 'json_object'"`, "'json_schema'");
const JSON_ANSWER = { frames: chatStream([{ content: '{"a":1}' }]), whole: chatWhole({ content: '{"a":1}' }) };

testEach(
  "E35",
  "a form that a server answers with 500 is asked for in words, of the same server",
  {},
  async (client, mode) => {
    const schema = { type: "object", properties: { a: { type: "integer" } } };
    const form = {
      chat: { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } },
      messages: { output_config: { format: { type: "json_schema", schema } } },
      responses: { text: { format: { type: "json_schema", name: "answer", schema } } },
    }[client];
    const upstream = fakeUpstream(error(NO_FORM, 500), () => responseOf(JSON_ANSWER, mode));
    const config = {
      upstreams: Object.fromEntries(
        ["first", "second"].map((name) => [name, { driver: "chat", baseUrl: `http://${name}.test/v1` }]),
      ),
      lanes: {
        oss: {
          models: {
            chat: { task: "chat" as const, targets: ["first", "second"].map((upstream) => ({ upstream, model: "m" })) },
          },
        },
      },
    };
    const app = newApp({ config, fetch: upstream.fetch });
    const body = { ...bodyFor(client, { stream: mode === "streamed" }), ...form };
    for (let turn = 0; turn < 2; turn++) {
      const response = await app.post(PATH[client], body, HEADERS[client]);
      const text = await response.text();
      assertEquals([response.status, text.includes('a\\":1')], [200, true], text);
    }
    const asked = upstream.asked.map(({ url, body }) => [url.hostname, "response_format" in JSON.parse(body)]);
    assertEquals(asked, [["first.test", true], ["first.test", false], ["first.test", false]]);
  },
);
