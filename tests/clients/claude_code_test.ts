/**
 * Claude Code itself in front of the gateway: what it sends, what it is sent, and what it makes of it. Needs npm, which
 * installs it; the cases of the real engine need one at `LANEWAY_TEST_ENGINE`.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, frame, word } from "../support/chat.ts";
import { missingEngine } from "../support/engine.ts";
import { KEY, type Person, withClaudeCode } from "./claude_code.ts";
import { CLAUDE_CODE, install } from "./install.ts";
import { TOOLS } from "./many_tools.ts";
import type { Exchange } from "./recorder.ts";
import { PAGES, SEARCHED_BY_SCRIPT, searching } from "./searching.ts";

const ENGINE = Deno.env.get("LANEWAY_TEST_ENGINE") ?? "http://127.0.0.1:38601/v1";
const installed = await install(CLAUDE_CODE, "claude");
const engineMissing = await missingEngine(ENGINE);

const CONFIG: ConfigInput = {
  upstreams: {
    engine: { driver: "chat", baseUrl: ENGINE, systemMessages: "anywhere" },
    sandbox: { driver: "sandbox" },
    scripted: { driver: "chat", baseUrl: "http://scripted.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        "tiny-chat": { task: "chat", targets: [{ upstream: "engine", model: "tiny-chat" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
        scripted: { task: "chat", targets: [{ upstream: "scripted", model: "scripted" }] },
        "claude-sandbox": {
          task: "chat",
          displayName: "Sandbox",
          targets: [{ upstream: "sandbox", model: "sandbox" }],
        },
      },
    },
  },
};

const TLS_FILES = new URL("../platform/tls/", import.meta.url);
const tls = (name: string) => Deno.readTextFileSync(new URL(name, TLS_FILES));

/** What ends up in front of a user: the events of a run, as lines of JSON. */
const AS_EVENTS = ["--output-format", "stream-json", "--verbose"];
const NO_TOOLS = ["--tools", ""];
/** The Bash tool may run without asking. */
const WITH_BASH = ["--tools", "Bash", "--allowedTools", "Bash"];

interface Conditions {
  /** Why the case cannot run here. */
  reason?: string;
  config?: ConfigInput;
  /** What the model `scripted` answers, in the chat wire. */
  script?: (call: number, body: JsonObject) => Response;
}

function test(
  name: string,
  use: (person: Person) => Promise<void>,
  { reason, config = CONFIG, script }: Conditions = {},
): void {
  const why = "reason" in installed ? installed.reason : reason;
  const full = `Claude Code: ${name}`;
  if ("reason" in installed || why !== undefined) {
    Deno.test({ name: `${full} (skipped: ${why})`, ignore: true, fn() {} });
  } else Deno.test(full, () => withClaudeCode(installed.program, config, use, script));
}

// The sandbox and the real engine

interface Subject {
  model: string;
  /** What makes it answer in text, and a part of the text. */
  prompts: string[];
  answers: string[];
  /** What makes it call the Bash tool, what the tool prints, and a part of the text that follows. */
  bash: { prompt: string; output: string; answer: string };
  missing?: string;
}

const SUBJECTS: Record<string, Subject> = {
  "the sandbox": {
    model: "sandbox",
    prompts: ["My first words", "My second words", "My third words"],
    answers: ['your last text was "My first words"', '"My second words"', '"My third words"'],
    bash: { prompt: "Please call the Bash tool", output: "sandbox", answer: 'the tool "Bash" answered with "sandbox"' },
  },
  "the engine": {
    model: "tiny-chat",
    prompts: ["#count", "#unicode", "#think"],
    answers: ["1, 2, 3", "", ""],
    bash: { prompt: "#bash", output: "hi", answer: "The tool said" },
    missing: engineMissing,
  },
};

for (const [name, { model, prompts, answers, bash, missing }] of Object.entries(SUBJECTS)) {
  test(`${name} answers a prompt`, async ({ app, run }) => {
    const { code, result, exchanges } = await run([prompts[0]!, "--model", model, ...NO_TOOLS, ...AS_EVENTS]);
    assertEquals([code, result.is_error, result.stop_reason], [0, false, "end_turn"]);
    assertStringIncludes(String(result.result), answers[0]!);

    const [exchange, ...more] = messagesOf(exchanges);
    assertEquals(more, [], "one request is enough");
    const { path, headers, body, status } = exchange!;
    assertEquals([path, status], ["/oss/v1/messages?beta=true", 200]);
    assertEquals([headers.get("anthropic-version"), headers.get("x-api-key")], ["2023-06-01", KEY]);
    assertMatch(headers.get("anthropic-beta") ?? "", /^claude-code-/);
    assertEquals([body.model, body.stream, body.max_tokens], [model, true, 32_000]);

    const events = await eventsOf(exchange!);
    assertWellFormed(events);
    assertEquals(textOf(events), result.result, "all that was said arrived");
    assert(usageOf(events.at(0)!.message).input > 500, "the first event already counts the input");
    const { input, output } = usageOf(events.at(-2));
    assertEquals([input, output], [usageOf(result).input, usageOf(result).output], "and its counts are what is shown");
    assertEquals(app.logs.map((entry) => [entry.key, entry.status, entry.model]), [["team", 200, model]]);
  }, { reason: missing });

  test(`${name} has a tool run and uses its result`, async ({ sent, run }) => {
    const { code, lines, result, exchanges } = await run([bash.prompt, "--model", model, ...WITH_BASH, ...AS_EVENTS]);
    assertEquals([code, result.is_error, result.num_turns], [0, false, 2]);
    assertStringIncludes(String(result.result), bash.answer);

    const [first, second, ...more] = messagesOf(exchanges);
    assertEquals(more, []);
    const events = await eventsOf(first!);
    assertWellFormed(events);
    assertEquals(events.at(-2)?.delta, { stop_reason: "tool_use", stop_sequence: null });
    const [call] = blocksOf(second!.body, "tool_use");
    assertEquals(call?.name, "Bash");
    const [answered] = blocksOf(second!.body, "tool_result");
    assertEquals([answered?.tool_use_id, answered?.content], [call?.id, bash.output]);
    assertEquals(
      lines.filter(({ type }) => type === "user").map((line) =>
        isJsonObject(line.tool_use_result) && line.tool_use_result.stdout
      ),
      [bash.output],
    );
    assertWellFormed(await eventsOf(second!));
    assertReadable(sent);
  }, { reason: missing });

  test(`${name} continues a conversation for three turns`, async ({ sent, run }) => {
    const options = ["--model", model, ...NO_TOOLS, ...AS_EVENTS];
    const said: unknown[] = [];
    let session: unknown;
    for (const [turn, prompt] of prompts.entries()) {
      const { code, result } = await run([prompt, ...(turn === 0 ? [] : ["--continue"]), ...options]);
      assertEquals([code, result.is_error], [0, false]);
      assertStringIncludes(String(result.result), answers[turn]!);
      assertEquals(result.session_id, session ??= result.session_id);
      said.push(result.result);
    }
    // A fourth turn shows what the third left behind.
    const { exchanges } = await run([prompts[0]!, "--resume", String(session), ...options]);
    const [{ body, status }] = messagesOf(exchanges) as [Exchange];
    assertEquals(status, 200);
    assertEquals(blocksOf(body, "text", "assistant").map(({ text }) => text), said);
    assertEquals(blocksOf(body, "text", "user").map(({ text }) => text), [...prompts, prompts[0]!]);
    // Its thoughts it keeps in what the gateway sealed.
    const thoughts = blocksOf(body, "thinking");
    assert(thoughts.length > 0 && thoughts.every(({ signature }) => String(signature).startsWith("lw1.")));
    assertReadable(sent);
  }, { reason: missing });
}

test("the engine's window is too small: it says so and does not try again", async ({ run }) => {
  const prompt = `${"A long story without an end. ".repeat(4_000)}#count`;
  const { code, result, exchanges } = await run([prompt, "--model", "tiny-chat", ...NO_TOOLS, ...AS_EVENTS]);
  assertEquals([code, result.terminal_reason], [1, "prompt_too_long"]);
  const [{ status, answer }, ...more] = messagesOf(exchanges) as [Exchange];
  assertEquals([status, more], [400, []]);
  assertMatch(await answer, /"message":"prompt is too long: \d+ tokens > \d+ maximum"/);
}, { reason: engineMissing });

// The gateway alone

test("lists models by discovery", async ({ home, run }) => {
  const env = { ANTHROPIC_AUTH_TOKEN: KEY, CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1" };
  const { exchanges } = await run(["Hello", "--model", "claude-sandbox", ...NO_TOOLS], env);
  const asked = exchanges.filter(({ path }) => path.startsWith("/oss/v1/models"));
  assertEquals(asked.map(({ method, path, status }) => [method, path, status]), [[
    "GET",
    "/oss/v1/models?limit=1000",
    200,
  ]]);
  assertEquals(asked[0]!.headers.get("authorization"), `Bearer ${KEY}`);
  const cache: JsonObject = JSON.parse(await Deno.readTextFile(`${home}/.claude/cache/gateway-models.json`));
  assertEquals(cache.models, [{ id: "claude-sandbox", display_name: "Sandbox" }]);
});

test("/context counts every piece of the context at once", async ({ run }) => {
  const { code, text, exchanges } = await run(["/context", "--model", "sandbox"]);
  assertEquals(code, 0);
  assertMatch(text, /\| System prompt \| [1-9]/);
  assertMatch(text, /\| System tools \| [1-9]/);
  const counts = exchanges.filter(({ path }) => path === "/oss/v1/messages/count_tokens?beta=true");
  assertEquals(exchanges.length, counts.length, "nothing but counts is asked");
  assert(counts.length >= 20);
  for (const { status, answer } of counts) {
    assertEquals(status, 200);
    assertMatch(await answer, /^\{"input_tokens":[1-9]\d*\}$/);
  }
});

// A model that says what the case needs

test("a tool that was deferred is shown to the model once a search has found it", async ({ sent, run }) => {
  const { result, exchanges } = await run(["Hello", "--model", "scripted", ...AS_EVENTS]);
  assertEquals([result.is_error, result.result], [false, "Found."]);
  const second = messagesOf(exchanges)[1]!.body;
  assertEquals(blocksOf(second, "tool_result").map(({ content }) => content), [
    [{ type: "tool_reference", tool_name: "WebFetch" }],
  ]);
  assertEquals(sent.map((body) => functionNames(body).includes("WebFetch")), [false, true]);
  assertEquals(turnOf(sent[1]!, -1), {
    role: "tool",
    tool_call_id: "call_1",
    content: "The tool WebFetch is now available.",
  });
  assertReadable(sent);
}, { script: calling("ToolSearch", { query: "select:WebFetch", max_results: 5 }, "Found.") });

test("of 300 tools of a server, a few are sent, and one that was found is called", async ({ sent, run }) => {
  const args = ["run", "--no-config", "--no-lock", new URL("many_tools.ts", import.meta.url).pathname];
  const servers = JSON.stringify({ mcpServers: { many: { command: Deno.execPath(), args } } });
  const options = ["--mcp-config", servers, "--strict-mcp-config", "--allowedTools", "mcp__many__task_77"];
  const { result, exchanges } = await run(["Hello", "--model", "scripted", ...options, ...AS_EVENTS]);
  assertEquals([result.is_error, result.result], [false, "Done."]);
  // The model knows the names of all of them, so that it can search.
  for (const { name } of TOOLS) assertStringIncludes(JSON.stringify(sent[0]!.messages), `mcp__many__${name}`);
  const deferred = /^(mcp__many__|DeferredToolPlaceholder$)/;
  const ofServer = sent.map((body) => functionNames(body).filter((name) => deferred.test(String(name))));
  assertEquals(ofServer, [[], ["mcp__many__task_77"], ["mcp__many__task_77"]]);
  assertEquals(turnOf(sent[2]!, -1), { role: "tool", tool_call_id: "call_2", content: "task_77 is done in Oslo" });
  for (const { tools } of sent) assert(estimateTextTokens(JSON.stringify(tools)) < 20_000);
  assertEquals(messagesOf(exchanges).map(({ status }) => status), [200, 200, 200]);
  assertReadable(sent);
}, {
  script: (call) =>
    call === 0
      ? calling("ToolSearch", { query: "select:mcp__many__task_77", max_results: 5 }, "")(0)
      : calling("mcp__many__task_77", { city: "Oslo" }, "Done.", "call_2")(call - 1),
});

const THOUGHTS = [' First "look",\n\t then ', "Now again \u{1f600} ", "Enough."];
const MARK = { google: { thought_signature: "c2lnbmF0dXJl" } };

/** A turn in which the model thinks, then calls the Bash tool as often as there are commands. */
function thinking(thought: string, commands: string[]): Response {
  const calls = commands.map((command, index) => ({
    index,
    id: `call_${command.replace(/\W/g, "_")}`,
    type: "function",
    function: { name: "Bash", arguments: JSON.stringify({ command, description: "Says something" }) },
    ...(index === 0 && { extra_content: MARK }),
  }));
  return answerStream([
    frame({ delta: { role: "assistant", reasoning_content: thought.slice(0, 4) } }),
    frame({ delta: { reasoning_content: thought.slice(4) } }),
    ...calls.map((call) => frame({ delta: { tool_calls: [call] } })),
    frame({ delta: {}, finish_reason: "tool_calls" }),
    "data: [DONE]\n\n",
  ]);
}

test("a web search that nobody runs is shown as failed, and the turn goes on", async ({ sent, run }) => {
  const options = ["--model", "scripted", "--tools", "WebSearch", "--allowedTools", "WebSearch", ...AS_EVENTS];
  const { result, exchanges } = await run(["Hello", ...options]);
  assertEquals([result.is_error, result.result], [false, "Found."]);
  const side = exchanges.find(({ body }) => /web_search_\d+/.test(JSON.stringify(body.tools)));
  assertEquals(side?.status, 200);
  const conversation = JSON.stringify(sent.at(-1)!.messages);
  assertStringIncludes(conversation, "Web search error: unavailable");
  // The search itself asked no model.
  assertEquals(sent.length, 2);
}, { script: calling("WebSearch", { query: "weather in Oslo" }, "Found.") });

test(
  "a web search that the gateway runs is shown with its pages, and the model gets what was found",
  async ({ sent, run }) => {
    const options = ["--model", "scripted", "--tools", "WebSearch", "--allowedTools", "WebSearch", ...AS_EVENTS];
    const { result, exchanges, text } = await run(["Hello", ...options]);
    assertEquals([result.is_error, result.result], [false, "Found."]);
    const side = exchanges.find(({ body }) => /web_search_\d+/.test(JSON.stringify(body.tools)));
    assertStringIncludes(await side!.answer, '"type":"web_search_tool_result"');
    assertStringIncludes(text, '"searchCount":1');
    const conversation = JSON.stringify(sent.at(-1)!.messages);
    for (const { url } of PAGES) assertStringIncludes(conversation, url);
    assertStringIncludes(conversation, "It rains in Oslo [1].");
  },
  {
    config: { ...CONFIG, hostedTools: SEARCHED_BY_SCRIPT },
    script: searching(({ messages }) => {
      const isAnswered = JSON.stringify(messages).includes("It rains in Oslo");
      return calling("WebSearch", { query: "weather in Oslo" }, "Found.")(isAnswered ? 1 : 0);
    }),
  },
);

test("a web search in front of the sandbox finds its pages, with no network", async ({ run }) => {
  const options = ["--model", "sandbox", "--tools", "WebSearch", "--allowedTools", "WebSearch", ...AS_EVENTS];
  const { result, exchanges, text } = await run(["Use WebSearch to find out what a lane is", ...options]);
  assertEquals(result.is_error, false);
  const side = exchanges.find(({ body }) => /web_search_\d+/.test(JSON.stringify(body.tools)));
  assertStringIncludes(await side!.answer, '"url":"https://sandbox.invalid/lanes"');
  assertStringIncludes(text, '"searchCount":1');
});

test("a page that it opens itself is summarized by the model", async ({ sent, run }) => {
  await using pages = Deno.serve(
    { hostname: "127.0.0.1", port: 0, key: tls("server.key"), cert: tls("server.pem"), onListen() {} },
    () => new Response("<h1>Oslo</h1><p>Rain, 7 degrees.</p>", { headers: { "content-type": "text/html" } }),
  );
  const settings = ["--settings", JSON.stringify({ skipWebFetchPreflight: true })];
  const options = ["--model", "scripted", "--tools", "WebFetch", "--allowedTools", "WebFetch", ...settings];
  const authority = new URL("ca.pem", TLS_FILES).pathname;
  const { result, text } = await run([`Read https://127.0.0.1:${pages.addr.port}/`, ...options, ...AS_EVENTS], {
    ANTHROPIC_API_KEY: KEY,
    NODE_EXTRA_CA_CERTS: authority,
  });
  assertEquals([result.is_error, result.result], [false, "It rains."], text);
  assert(sent.some(({ tools, messages }) => !tools && JSON.stringify(messages).includes("Rain, 7 degrees.")));
  assertStringIncludes(JSON.stringify(turnOf(sent.at(-1)!, -1)), "Rain in Oslo");
}, {
  script(_call, { messages, tools }) {
    if (!tools) return answerStream([word("Rain in Oslo"), ENDING]);
    const text = JSON.stringify(messages);
    const url = /https:\/\/127[^ "\\]+/.exec(text)?.[0];
    return calling("WebFetch", { url: url ?? "", prompt: "Weather?" }, "It rains.")(
      text.includes("tool_call_id") ? 1 : 0,
    );
  },
});

test("what the model thought goes back to it byte for byte, with its marks on calls", async ({ sent, run }) => {
  const options = ["--model", "scripted", ...WITH_BASH, ...AS_EVENTS];
  const { result, exchanges } = await run(["Hello", ...options]);
  assertEquals([result.is_error, result.result], [false, "Done."]);
  await run(["And now?", "--continue", ...options]);
  const turns = [0, 1, 2, 2];
  assertEquals(sent.length, turns.length);
  for (const [at, count] of turns.entries()) {
    const asked = Array.isArray(sent[at]!.messages) ? sent[at]!.messages.filter(isJsonObject) : [];
    const called = asked.filter((turn) => turn.role === "assistant" && Array.isArray(turn.tool_calls));
    assertEquals(called.map(({ reasoning_content }) => reasoning_content), THOUGHTS.slice(0, count), `call ${at}`);
    for (const { tool_calls } of called) {
      const marks = (tool_calls as JsonObject[]).map(({ extra_content }) => extra_content);
      assertEquals(marks, marks.map((_, index) => index === 0 ? MARK : undefined));
    }
  }
  const last = Array.isArray(sent[3]!.messages) ? sent[3]!.messages.filter(isJsonObject) : [];
  const spoken = last.filter(({ role, content }) => role === "assistant" && content === "Done.");
  assertEquals(spoken.map(({ reasoning_content }) => reasoning_content), [THOUGHTS[2]]);
  assertEquals(
    messagesOf(exchanges).map(({ answerHeaders }) => answerHeaders.get("x-laneway-notes")?.includes("seal")),
    [
      false,
      false,
      false,
    ],
  );
}, {
  script: (call) =>
    call === 0
      ? thinking(THOUGHTS[0]!, ["echo one", "echo two"])
      : call === 1
      ? thinking(THOUGHTS[1]!, ["echo three"])
      : answerStream([
        frame({ delta: { role: "assistant", reasoning_content: THOUGHTS[2] } }),
        word("Done."),
        ENDING,
      ]),
});

test("an image that it reads reaches the model", async ({ home, sent, run }) => {
  await Deno.writeFile(`${home}/project/pixel.png`, Uint8Array.fromBase64(PIXEL));
  const options = ["--tools", "Read", "--allowedTools", "Read", ...AS_EVENTS];
  const { result } = await run(["Hello", "--model", "scripted", ...options]);
  assertEquals([result.is_error, result.result], [false, "A pixel."]);
  const { role, content } = turnOf(sent[1]!, -1);
  const [image] = (Array.isArray(content) ? content : []).filter(isJsonObject).filter(({ type }) =>
    type === "image_url"
  );
  assertEquals([role, isJsonObject(image?.image_url)], ["user", true]);
  assertMatch(JSON.stringify(image), /"data:image\/png;base64,[A-Za-z0-9+/=]+"/);
}, { script: calling("Read", { file_path: "pixel.png" }, "A pixel.") });

test("a stream that breaks is asked for again, whole", async ({ run }) => {
  const { result, exchanges } = await run(["Hello", "--model", "scripted", ...NO_TOOLS, ...AS_EVENTS]);
  assertEquals([result.is_error, result.result], [false, "whole"]);
  const [broken, whole] = messagesOf(exchanges) as [Exchange, Exchange];
  assertEquals([broken.body.stream, whole.body.stream ?? false], [true, false]);
  assertMatch(await broken.answer, /event: error\ndata: [^\n]+\n\n$/);
  assertEquals(whole.answerHeaders.get("content-type"), "application/json");
}, { script: (call) => call === 0 ? answerStream([word("one")]) : answerWhole() });

// The gateway alone, when it refuses

test("a wrong key: it says that the key is wrong", async ({ app, run }) => {
  const env = { ANTHROPIC_API_KEY: "wrong" };
  const { code, result, exchanges } = await run(["Hello", "--model", "sandbox", ...NO_TOOLS, ...AS_EVENTS], env);
  assertEquals([code, result.is_error, result.api_error_status], [1, true, 401]);
  assertEquals(messagesOf(exchanges).map(({ status }) => status), [401], "and does not try again");
  assert(app.logs.every(({ error }) => error === "authentication"));
});

test("an unknown model: it says that the model may not exist", async ({ run }) => {
  const { code, result, exchanges } = await run(["Hello", "--model", "nothing", ...NO_TOOLS, ...AS_EVENTS]);
  assertEquals([code, result.api_error_status], [1, 404]);
  assertStringIncludes(String(result.result), "issue with the selected model (nothing)");
  assertMatch(await exchanges[0]!.answer, /"type":"not_found_error","message":"Cannot find model \\"nothing\\"/);
  // It always asks once more without a stream.
  assertEquals(messagesOf(exchanges).map(({ status, body }) => [status, body.stream ?? false]), [
    [404, true],
    [404, false],
  ]);
});

// What is said

/** A pixel, as a PNG. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Calls a tool, and says a text after its result. */
function calling(name: string, input: JsonObject, text: string, id = "call_1"): (call: number) => Response {
  const call = { index: 0, id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  return (number) =>
    number === 0
      ? answerStream([frame({ delta: { role: "assistant", tool_calls: [call] }, finish_reason: "tool_calls" }), DONE])
      : answerStream([word(text), ENDING]);
}

const DONE = "data: [DONE]\n\n";

function messagesOf(exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.filter(({ method, path }) => method === "POST" && path.startsWith("/oss/v1/messages?"));
}

/** The events of a streamed answer; the name of each is its type. */
async function eventsOf({ answer }: Exchange): Promise<JsonObject[]> {
  const frames = (await answer).split("\n\n").filter((frame) => frame !== "");
  return frames.map((frame) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    const event: JsonObject = JSON.parse(data ?? "{}");
    assertEquals(event.type, name);
    return event;
  });
}

/** One message: blocks one after the other, each with all of its increments, then the stop reason. */
function assertWellFormed(events: readonly JsonObject[]): void {
  const types = events.map(({ type }) => type).filter((type) => type !== "ping").join(" ");
  const block = "content_block_start( content_block_delta)* content_block_stop";
  assertMatch(types, new RegExp(`^message_start( ${block})+ message_delta message_stop$`));
  const starts = events.filter(({ type }) => type === "content_block_start");
  assertEquals(starts.map(({ index }) => index), starts.map((_, position) => position));
}

function textOf(events: readonly JsonObject[]): string {
  return events.map(({ delta }) => isJsonObject(delta) && delta.type === "text_delta" ? delta.text : "").join("");
}

function usageOf(value: unknown): { input: number; output: number } {
  const usage = isJsonObject(value) && isJsonObject(value.usage) ? value.usage : {};
  return { input: Number(usage.input_tokens), output: Number(usage.output_tokens) };
}

/** The blocks of a type in a request's turns, in order; a turn's plain text is a block of text. */
function blocksOf({ messages }: JsonObject, type: string, role?: string): JsonObject[] {
  const turns = (Array.isArray(messages) ? messages : []).filter(isJsonObject);
  return turns.filter((turn) => role === undefined || turn.role === role)
    .flatMap(({ content }) =>
      Array.isArray(content) ? content.filter(isJsonObject) : [{ type: "text", text: content ?? "" }]
    )
    .filter((block) => block.type === type);
}

/** The names of the tools in a request of the chat wire. */
function functionNames({ tools }: JsonObject): unknown[] {
  const functions = (Array.isArray(tools) ? tools : []).filter(isJsonObject).map((tool) => tool.function);
  return functions.filter(isJsonObject).map(({ name }) => name);
}

/** A turn of a request, counted from the end where `at` is below 0. */
function turnOf({ messages }: JsonObject, at: number): JsonObject {
  const turn = Array.isArray(messages) ? messages.at(at) : undefined;
  return isJsonObject(turn) ? turn : {};
}

/** What an upstream of another wire is sent holds nothing of this one's. */
function assertReadable(sent: readonly JsonObject[]): void {
  for (const body of sent) {
    const text = JSON.stringify(body);
    for (const foreign of ["x-anthropic-billing-header", "cache_control", "defer_loading", "context_management"]) {
      assertEquals(text.includes(foreign), false, `"${foreign}" went to the upstream`);
    }
  }
}
