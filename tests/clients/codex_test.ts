/**
 * Codex itself in front of the gateway: what it sends, what it is sent, and what it makes of it. Needs npm, which installs
 * it; the cases of the real engine need one at `LANEWAY_TEST_ENGINE`.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { answerStream, ENDING, frame, word } from "../support/chat.ts";
import { missingEngine } from "../support/engine.ts";
import { KEY, KEYS, liveCatalog, type Person, type Run, withCodex } from "./codex.ts";
import { CODEX, install } from "./install.ts";
import type { Exchange } from "./recorder.ts";
import { SEARCHED_BY_SCRIPT, searching } from "./searching.ts";

const ENGINE = Deno.env.get("LANEWAY_TEST_ENGINE") ?? "http://127.0.0.1:38601/v1";
const installed = await install(CODEX, "codex");
const engineMissing = await missingEngine(ENGINE);

const OPEN: ConfigInput = {
  upstreams: {
    chat: { driver: "chat", baseUrl: ENGINE, systemMessages: "anywhere" },
    messages: { driver: "messages", baseUrl: ENGINE, systemMessages: "anywhere" },
    responses: { driver: "responses", baseUrl: ENGINE, systemMessages: "anywhere" },
    sandbox: { driver: "sandbox" },
    scripted: { driver: "chat", baseUrl: "http://scripted.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        "tiny-chat": { task: "chat", targets: [{ upstream: "chat", model: "tiny-chat" }] },
        "tiny-messages": { task: "chat", targets: [{ upstream: "messages", model: "tiny-chat" }] },
        "tiny-responses": { task: "chat", targets: [{ upstream: "responses", model: "tiny-chat" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
        scripted: {
          task: "chat",
          targets: [{ upstream: "scripted", model: "scripted" }],
          contextLength: 100_000,
          inputModalities: ["text", "image"],
          efforts: ["low", "high"],
        },
      },
    },
  },
};
const CONFIG: ConfigInput = { ...OPEN, keys: KEYS };

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
  const full = `Codex: ${name}`;
  if ("reason" in installed || why !== undefined) {
    Deno.test({ name: `${full} (skipped: ${why})`, ignore: true, fn() {} });
  } else Deno.test(full, () => withCodex(installed.program, { config, script }, use));
}

// The sandbox and the real engine

interface Subject {
  model: string;
  options?: string[];
  /** What makes it answer, and a part of each answer. */
  prompts: string[];
  answers: string[];
  /** What makes it run a command, what the command prints, and a part of the text that follows. */
  command: { prompt: string; output: string; answer: string };
  missing?: string;
}

/** Fewer tools and instructions, which the engine would take seconds to read. */
const BRIEFLY = ["--disable", "multi_agent", "--disable", "goals", "--config", "skills.bundled.enabled=false"];

const TINY = {
  options: BRIEFLY,
  prompts: ["#count", "#unicode", "#think"],
  answers: ["1, 2, 3", "", "4"],
  command: { prompt: "#exec", output: "hi\n", answer: "The tool said" },
  missing: engineMissing,
};

const SUBJECTS: Record<string, Subject> = {
  "the sandbox": {
    model: "sandbox",
    // It calls a tool for each message that brings tools along, one that only looks where there is one.
    prompts: ["My first words", "My second words", "My third words"],
    answers: ['the tool "', 'the tool "', 'the tool "'],
    command: { prompt: "Please call exec_command", output: "sandbox\n", answer: 'the tool "exec_command" answered' },
  },
  "the engine": { ...TINY, model: "tiny-chat" },
  "the engine's Messages": { ...TINY, model: "tiny-messages" },
  "the engine's Responses": { ...TINY, model: "tiny-responses" },
};

for (const [name, { model, options = [], prompts, answers, command, missing }] of Object.entries(SUBJECTS)) {
  test(`${name} answers a prompt`, async ({ app, baseUrl, exec }) => {
    const run = await exec(["--model", model, ...options, ...liveCatalog(baseUrl), prompts[0]!]);
    assertEquals([run.code, errorsOf(run)], [0, []]);
    assertStringIncludes(saidIn(run).at(-1)!, answers[0]!);

    const asked = responsesOf(run);
    for (const { path, headers, body, status, answerHeaders } of asked) {
      assertEquals([path, status], ["/oss/v1/responses", 200]);
      assertEquals(headers.get("accept"), "text/event-stream");
      assertMatch(answerHeaders.get("content-type") ?? "", /^text\/event-stream\b/);
      assertEquals([body.model, body.stream, body.store, headers.get("authorization")], [
        model,
        true,
        false,
        `Bearer ${KEY}`,
      ]);
    }
    const endings = await Promise.all(asked.map(endingOf));
    assertEquals(endings.flatMap(textsOf), saidIn(run), "all that was said arrived");
    const { input_tokens: input, output_tokens: output } = usageIn(run);
    assertEquals([input, output], [sum(endings, "input_tokens"), sum(endings, "output_tokens")]);
    assert(Number(input) > 1_000 && Number(output) > 0);
    const logged = app.logs.filter(({ protocol }) => protocol === "responses");
    assertEquals(logged.map(({ key, status, model }) => [key, status, model]), asked.map(() => ["team", 200, model]));
  }, { reason: missing });

  test(`${name} has a command run and uses what it printed`, async ({ baseUrl, exec }) => {
    const run = await exec(["--model", model, ...options, ...liveCatalog(baseUrl), command.prompt]);
    assertEquals([run.code, errorsOf(run)], [0, []]);
    assertEquals(
      itemsIn(run, "command_execution").map((item) => [item.aggregated_output, item.exit_code, item.status]),
      [[command.output, 0, "completed"]],
    );
    assertStringIncludes(saidIn(run).at(-1)!, command.answer);

    const [first, second, ...more] = responsesOf(run);
    assertEquals(more, []);
    const [call] = outputOf(await endingOf(first!), "function_call");
    assertEquals(call?.name, "exec_command");
    assertEquals(inputOf(second!, "function_call").map(withoutId), [withoutId(call!)], "the call comes back as it was");
    const [result] = inputOf(second!, "function_call_output");
    assertEquals(result?.call_id, call?.call_id);
    assertStringIncludes(String(result?.output), `Output:\n${command.output}`);
  }, { reason: missing });

  test(`${name} continues a conversation for three turns`, async ({ baseUrl, exec, sent }) => {
    const always = ["--model", model, ...options, ...liveCatalog(baseUrl)];
    const runs: Run[] = [];
    for (const [turn, prompt] of prompts.entries()) {
      const run = await exec([...always, ...(turn === 0 ? [] : ["resume", "--last"]), prompt]);
      assertEquals([run.code, errorsOf(run)], [0, []]);
      assertStringIncludes(saidIn(run).at(-1)!, answers[turn]!);
      runs.push(run);
    }
    const threads = runs.map(({ lines }) => lines.find(({ type }) => type === "thread.started")?.thread_id);
    assertEquals(new Set(threads).size, 1);
    const asked = runs.flatMap(responsesOf);
    assertEquals(new Set(asked.map(({ body }) => body.prompt_cache_key)).size, 1);

    // The last request holds all that every answer before it brought, in order.
    const brought = (await Promise.all(asked.slice(0, -1).map(endingOf))).flatMap((ending) => outputOf(ending));
    const last = asked.at(-1)!;
    const ids = new Set(brought.map(({ id }) => id));
    assertEquals(inputOf(last).filter(({ id }) => ids.has(id)).map(({ id }) => id), brought.map(({ id }) => id));
    const spoken = inputOf(last, "message").filter(({ role }) => role === "user").map(partsOf);
    for (const prompt of prompts) assert(spoken.some((text) => text.endsWith(prompt)), `"${prompt}" is in the history`);
    for (const text of runs.slice(0, -1).flatMap(saidIn)) {
      assert(inputOf(last, "message").map(partsOf).includes(text), `"${text}" is in the history`);
      if (sent.length > 0) assertStringIncludes(JSON.stringify(sent.at(-1)), JSON.stringify(text));
    }
  }, { reason: missing });
}

test("the engine's window is too small: it says so and does not try again", async ({ exec }) => {
  const run = await exec([
    "--model",
    "tiny-chat",
    ...BRIEFLY,
    `${"A long story without an end. ".repeat(4_000)}#count`,
  ]);
  assertEquals(run.code, 1);
  assertStringIncludes(failureIn(run), "ran out of room in the model's context window");
  assertEquals(responsesOf(run).map(({ status }) => status), [400]);
}, { reason: engineMissing });

test("the sandbox changes a file with the patch tool", async ({ baseUrl, exec, project }) => {
  const run = await exec(["--model", "sandbox", ...liveCatalog(baseUrl), "Please call apply_patch"]);
  assertEquals([run.code, errorsOf(run)], [0, []]);
  assertEquals(await Deno.readTextFile(`${project}/laneway-sandbox.txt`), "Written by the Laneway sandbox\n");
  assertEquals(itemsIn(run, "file_change").map(({ status }) => status), ["completed"]);
  assertStringIncludes(saidIn(run).at(-1)!, 'the tool "apply_patch" answered');
});

test("the sandbox answers in the form that was asked for", async ({ exec, project }) => {
  const schema = { type: "object", properties: { color: { enum: ["blue"] } }, required: ["color"] };
  await Deno.writeTextFile(`${project}/schema.json`, JSON.stringify(schema));
  const run = await exec(["--model", "sandbox", "--output-schema", "schema.json", "Hello"]);
  assertEquals([run.code, saidIn(run).map((text) => JSON.parse(text))], [0, [{ color: "blue" }]]);
});

// A model that says what the case needs

const PATCH = [
  "*** Begin Patch",
  "*** Update File: poem.txt",
  "@@",
  " Roses are red",
  '-Violets are "blue"',
  "+Violets are – \\violet\t✓",
  "*** Add File: new/file.txt",
  "+One line",
  "*** End Patch",
  "",
].join("\n");

test("a patch of a model that knows functions only changes the files", async ({ baseUrl, exec, project, sent }) => {
  await Deno.writeTextFile(`${project}/poem.txt`, 'Roses are red\nViolets are "blue"\n');
  const run = await exec(["--model", "scripted", ...liveCatalog(baseUrl), "Hello"]);
  assertEquals([run.code, errorsOf(run), saidIn(run)], [0, [], ["Patched."]]);
  assertEquals(await Deno.readTextFile(`${project}/poem.txt`), "Roses are red\nViolets are – \\violet\t✓\n");
  assertEquals(await Deno.readTextFile(`${project}/new/file.txt`), "One line\n");

  const [first, second] = responsesOf(run);
  const tools = Array.isArray(first!.body.tools) ? first!.body.tools.filter(isJsonObject) : [];
  assertEquals(tools.find(({ name }) => name === "apply_patch")?.type, "custom");
  assertStringIncludes(JSON.stringify(toolOf(sent[0]!, "apply_patch")), "begin_patch", "the model is told the grammar");
  const [call] = inputOf(second!, "custom_tool_call");
  assertEquals([call?.name, call?.call_id, call?.input], ["apply_patch", "call_1", PATCH]);
  const [asking, answering] = turnsOf(sent[1]!).slice(-2);
  assertEquals(callsIn(asking!), [["call_1", "apply_patch", JSON.stringify({ input: PATCH })]]);
  assertEquals([answering?.role, answering?.tool_call_id], ["tool", "call_1"]);
  assertStringIncludes(String(answering?.content), "Success. Updated the following files:");
}, { script: calling([{ name: "apply_patch", input: { input: PATCH } }], "Patched.") });

test("calls that come together are run, and answered together", async ({ exec, sent }) => {
  const run = await exec(["--model", "scripted", "Hello"]);
  assertEquals([run.code, saidIn(run)], [0, ["Both."]]);
  assertEquals(itemsIn(run, "command_execution").map((item) => item.aggregated_output).toSorted(), ["one\n", "two\n"]);
  assertEquals(sent.length, 2);
  const [asking, first, second] = turnsOf(sent[1]!).slice(-3);
  assertEquals(callsIn(asking!).map(([id]) => id), ["call_1", "call_2"]);
  assertEquals([first, second].map((turn) => [turn?.role, turn?.tool_call_id]), [
    ["tool", "call_1"],
    ["tool", "call_2"],
  ]);
  assertStringIncludes(String(first?.content), "Output:\none\n");
  assertStringIncludes(String(second?.content), "Output:\ntwo\n");
}, {
  script: calling([
    { name: "exec_command", input: { cmd: "echo one" } },
    { name: "exec_command", input: { cmd: "echo two" } },
  ], "Both."),
});

test("a tool in a namespace is found again", async ({ exec, sent }) => {
  const run = await exec(["--model", "scripted", "Hello"]);
  assertEquals([run.code, saidIn(run)], [0, ["Nobody."]]);
  const [first, second] = responsesOf(run);
  const [call] = outputOf(await endingOf(first!), "function_call");
  assertEquals([call?.namespace, call?.name], ["multi_agent_v1", "close_agent"]);
  const [result] = inputOf(second!, "function_call_output");
  assertEquals(String(result?.output).includes("unsupported call"), false);
  assertEquals(callsIn(turnsOf(sent[1]!).at(-2)!), [["call_1", "multi_agent_v1__close_agent", '{"target":"nobody"}']]);
}, { script: calling([{ name: "multi_agent_v1__close_agent", input: { target: "nobody" } }], "Nobody.") });

test("what the model thought is shown, and the model reads it again", async ({ baseUrl, exec, sent }) => {
  const options = ["--model", "scripted", ...liveCatalog(baseUrl), "--config", 'model_reasoning_effort="high"'];
  const run = await exec([...options, "Hello"]);
  assertEquals([run.code, saidIn(run)], [0, ["Done."]]);
  assertEquals(sent.map((body) => body.reasoning_effort), ["high", "high"]);
  assertEquals(itemsIn(run, "reasoning").map(({ text }) => text), ["First I look, then I speak."]);
  const asking = turnsOf(sent[1]!).at(-2)!;
  assertEquals(asking.reasoning_content, "First I look, then I speak.");
  assertEquals(callsIn(asking).length, 1, "the thought and the call are one turn");
  const [{ extra_content }] = asking.tool_calls as [JsonObject];
  assertEquals(extra_content, { mark: "c2ln" }, "the call has its server's mark");

  await exec([...options, "resume", "--last", "And now?"]);
  assertEquals(turnsOf(sent[2]!).slice(0, -1), [...turnsOf(sent[1]!), { role: "assistant", content: "Done." }]);
}, {
  script: (number) =>
    number > 0 ? answerStream([word("Done."), ENDING]) : answerStream([
      frame({ delta: { role: "assistant", reasoning_content: "First I look, " } }),
      frame({ delta: { reasoning_content: "then I speak." } }),
      frame({
        delta: {
          tool_calls: [{
            ...toolCall(0, { name: "exec_command", input: { cmd: "true" } }),
            extra_content: { mark: "c2ln" },
          }],
        },
        finish_reason: "tool_calls",
      }),
      DONE,
    ]),
});

test("a picture reaches the model", async ({ baseUrl, exec, project, sent }) => {
  await Deno.writeFile(`${project}/pixel.png`, Uint8Array.fromBase64(PIXEL));
  const run = await exec(["--model", "scripted", ...liveCatalog(baseUrl), "--image", "pixel.png", "--", "Look"]);
  assertEquals([run.code, saidIn(run)], [0, ["A pixel."]]);
  const { role, content } = turnsOf(sent[0]!).at(-1)!;
  const pictures = (Array.isArray(content) ? content.filter(isJsonObject) : []).filter(({ type }) =>
    type === "image_url"
  );
  assertEquals([role, pictures.length], ["user", 1]);
  assertMatch(JSON.stringify(pictures), /"data:image\/png;base64,[A-Za-z0-9+/=]+"/);
}, { script: () => answerStream([word("A pixel."), ENDING]) });

test("what a turn cost is shown, call by call summed up", async ({ exec }) => {
  const run = await exec(["--model", "scripted", "Hello"]);
  assertEquals(usageIn(run), {
    input_tokens: 1_000,
    cached_input_tokens: 600,
    cache_write_input_tokens: 0,
    output_tokens: 50,
    reasoning_output_tokens: 20,
  });
}, {
  script: () => {
    const usage = {
      prompt_tokens: 1_000,
      prompt_tokens_details: { cached_tokens: 600 },
      completion_tokens: 50,
      completion_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 1_050,
    };
    const last = `data: ${JSON.stringify({ model: "scripted", choices: [], usage })}\n\n`;
    return answerStream([word("Done."), frame({ delta: {}, finish_reason: "stop" }), last, DONE]);
  },
});

test("a conversation that fills the model's window is summed up and goes on", async ({ baseUrl, exec, sent }) => {
  const options = ["--model", "scripted", ...liveCatalog(baseUrl)];
  await exec([...options, "Hello"]);
  const run = await exec([...options, "resume", "--last", "And now?"]);
  assertEquals([run.code, errorsOf(run), saidIn(run)], [0, [], ["Going on."]]);
  assertEquals(sent.length, 3);
  const [, summing, going] = sent as [JsonObject, JsonObject, JsonObject];
  assertEquals([summing.tools, summing.tool_choice], [undefined, undefined], "a summary needs no tools");
  assertStringIncludes(JSON.stringify(turnsOf(going)), "All there is to know.");
  assertEquals(JSON.stringify(turnsOf(going)).includes("A long answer."), false);
}, {
  script: (call) => {
    const usage = { prompt_tokens: call === 0 ? 99_000 : 1_000, completion_tokens: 10 };
    const last = `data: ${JSON.stringify({ model: "scripted", choices: [], usage })}\n\n`;
    const text = ["A long answer.", "All there is to know.", "Going on."][call] ?? "";
    return answerStream([word(text), frame({ delta: {}, finish_reason: "stop" }), last, DONE]);
  },
});

test("a conversation that the server is to sum up comes back sealed and goes on", async ({ baseUrl, exec, sent }) => {
  const vendors = ["--config", 'model_providers.gateway.name="OpenAI"'];
  const options = ["--model", "scripted", ...vendors, ...liveCatalog(baseUrl)];
  await exec([...options, "Hello"]);
  const run = await exec([...options, "resume", "--last", "And now?"]);
  assertEquals([run.code, errorsOf(run), saidIn(run)], [0, [], ["Going on."]]);
  const [summing, going] = responsesOf(run);
  assertEquals(inputOf(summing!).at(-1)?.type, "compaction_trigger");
  assertEquals((await endingOf(summing!)).output, inputOf(going!, "compaction"), "the item comes back as it was");
  const words = JSON.stringify(turnsOf(sent[2]!));
  assertStringIncludes(words, "All there is to know.");
  assertEquals([words.includes("A long answer."), words.includes("Hello"), sent.length], [false, true, 3]);
}, {
  script: (call) => {
    const usage = { prompt_tokens: call === 0 ? 99_000 : 1_000, completion_tokens: 10 };
    const last = `data: ${JSON.stringify({ model: "scripted", choices: [], usage })}\n\n`;
    const text = ["A long answer.", "All there is to know.", "Going on."][call] ?? "";
    return answerStream([word(text), frame({ delta: {}, finish_reason: "stop" }), last, DONE]);
  },
});

test("a stream that breaks is asked for again", async ({ exec }) => {
  const run = await exec(["--model", "scripted", "Hello"]);
  assertEquals([run.code, saidIn(run).at(-1)], [0, "whole"]);
  const [broken, whole, ...more] = await Promise.all(responsesOf(run).map(endingOf));
  assertEquals([broken?.status, whole?.status, more], ["failed", "completed", []]);
  assertEquals(isJsonObject(broken?.error) && broken.error.code, "server_error");
}, { script: (call) => answerStream(call === 0 ? [word("half")] : [word("whole"), ENDING]) });

test("a stream that breaks each time: it says what happened", async ({ exec }) => {
  const run = await exec(["--model", "scripted", "Hello"]);
  assertEquals([run.code, responsesOf(run).length], [1, 2]);
  assertStringIncludes(failureIn(run), "answer ended before it was complete");
}, { script: () => answerStream([word("half")]) });

test("a prompt that is too long for the model: it says so and does not try again", async ({ exec }) => {
  const run = await exec(["--model", "scripted", "Hello"]);
  assertEquals([run.code, responsesOf(run).length], [1, 1]);
  assertStringIncludes(failureIn(run), "ran out of room in the model's context window");
}, {
  script: () => {
    const message = "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens.";
    return Response.json({ error: { message, type: "BadRequestError", param: null, code: 400 } }, { status: 400 });
  },
});

// The gateway alone, when it refuses

test("a wrong key: it says that the key is wrong", async ({ app, exec }) => {
  const run = await exec(["--model", "sandbox", "Hello"], { GATEWAY_KEY: "wrong" });
  assertEquals(run.code, 1);
  assertMatch(failureIn(run), /401 Unauthorized/);
  assert(app.logs.length > 0 && app.logs.every(({ error }) => error === "authentication"));
});

test("an unknown model: it says that there is none of that name", async ({ exec }) => {
  const run = await exec(["--model", "nothing", "Hello"]);
  assertEquals(run.code, 1);
  assertStringIncludes(failureIn(run), 'Cannot find model "nothing" in lane "oss"');
});

const SOCKET = ["--config", "model_providers.gateway.supports_websockets=true"];

test(
  "a loop of five turns goes over one WebSocket, each turn with what is new alone",
  async ({ app, baseUrl, exec, sent }) => {
    const run = await exec(["--model", "scripted", ...SOCKET, ...liveCatalog(baseUrl), "Hello"]);
    assertEquals([run.code, errorsOf(run), saidIn(run)], [0, [], ["All done."]]);
    assertEquals(itemsIn(run, "command_execution").length, 4);
    assertEquals(run.exchanges.filter(({ headers }) => headers.has("upgrade")).map(({ status }) => status), [101]);
    assertEquals(responsesOf(run), [], "nothing went over HTTP");
    // One line for the connection, one for what warms it up, and one for each turn.
    const lines = app.logs.filter(({ protocol }) => /^responses(-socket)?$/.test(protocol!)).map(({ status }) =>
      status
    );
    assertEquals(lines, [101, 200, 200, 200, 200, 200, 200]);
    // The model is asked no more often than that, and reads the whole conversation each time.
    assertEquals(sent.length, 5);
    const lengths = sent.map((body) => turnsOf(body).length);
    assertEquals(lengths.map((length, index) => length - lengths[0]! - 2 * index), [0, 0, 0, 0, 0]);
    assertEquals(turnsOf(sent[4]!).slice(0, lengths[0]), turnsOf(sent[0]!));
  },
  {
    script: (call) =>
      call === 4 ? answerStream([word("All done."), ENDING]) : answerStream([
        frame({
          delta: {
            tool_calls: [{
              ...toolCall(0, { name: "exec_command", input: { cmd: `echo ${call}` } }),
              id: `call_${call}`,
            }],
          },
          finish_reason: "tool_calls",
        }),
        DONE,
      ]),
  },
);

test(
  "a loop that fills the model's window is summed up on the WebSocket, and goes on knowing what matters",
  async ({ baseUrl, exec, sent }) => {
    const vendors = ["--config", 'model_providers.gateway.name="OpenAI"'];
    const run = await exec(["--model", "scripted", ...SOCKET, ...vendors, ...liveCatalog(baseUrl), "Remember plum"]);
    assertEquals([run.code, errorsOf(run), saidIn(run)], [0, [], ["Going on."]]);
    assertEquals(itemsIn(run, "command_execution").length, 1);
    assertEquals(responsesOf(run), [], "nothing went over HTTP");
    assertEquals(sent.length, 3);
    // The summary is asked for in the conversation as it was, with the result of the call.
    assertStringIncludes(JSON.stringify(turnsOf(sent[1]!)), "what the command printed");
    const words = JSON.stringify(turnsOf(sent[2]!));
    assertStringIncludes(words, "All there is to know.");
    assertEquals([words.includes("Remember plum"), words.includes("what the command printed")], [true, false]);
  },
  {
    script: (call) => {
      const usage = { prompt_tokens: call === 0 ? 99_000 : 1_000, completion_tokens: 10 };
      const last = `data: ${JSON.stringify({ model: "scripted", choices: [], usage })}\n\n`;
      const run = toolCall(0, { name: "exec_command", input: { cmd: "echo what the command printed" } });
      return call === 0
        ? answerStream([frame({ delta: { tool_calls: [run] }, finish_reason: "tool_calls" }), last, DONE])
        : answerStream([word(call === 1 ? "All there is to know." : "Going on."), ENDING.replace(DONE, last + DONE)]);
    },
  },
);

// What the models are like

test("the catalog is loaded live", async ({ baseUrl, codex, exec }) => {
  const { code, text, exchanges } = await codex([...liveCatalog(baseUrl), "debug", "models"]);
  assertEquals(code, 0);
  assertCatalog(text);
  const [{ headers, path, status }, ...more] = exchanges as [Exchange];
  assertEquals([path, status, more], ["/oss/v1/models?client_version=0.169.0", 200, []]);
  assertEquals(headers.get("authorization"), `Bearer ${KEY}`);

  const run = await exec(["--model", "sandbox", ...liveCatalog(baseUrl), "Hello"]);
  assertEquals([run.code, errorsOf(run)], [0, []], "no word of a model that it does not know");
});

test("the catalog is loaded from the file that the task writes", async ({ codex, exec, project }) => {
  await Deno.writeTextFile(`${project}/gateway.json`, JSON.stringify({ ...CONFIG, listen: { hostname: "127.0.0.1" } }));
  const file = `${project}/models.json`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "catalog", "oss", file],
    cwd: new URL("../../", import.meta.url),
    env: { LANEWAY_CONFIG: `${project}/gateway.json`, TEAM_KEY: KEY },
    stdin: "null",
  }).output();
  assert(success, new TextDecoder().decode(stderr));

  const fromFile = ["--config", `model_catalog_json="${file}"`];
  const { code, text, exchanges } = await codex([...fromFile, "debug", "models"]);
  assertEquals([code, exchanges], [0, []]);
  assertCatalog(text);
  const run = await exec(["--model", "sandbox", ...fromFile, "Hello"]);
  assertEquals([run.code, errorsOf(run)], [0, []], "no word of a model that it does not know");
});

/** The models that Codex knows are those of the lane that an agent can use, with what the configuration says of them. */
function assertCatalog(text: string): void {
  const catalog: unknown = JSON.parse(text);
  const models = isJsonObject(catalog) && Array.isArray(catalog.models) ? catalog.models.filter(isJsonObject) : [];
  assertEquals(models.map(({ slug }) => slug).toSorted(), [
    "sandbox",
    "scripted",
    "tiny-chat",
    "tiny-messages",
    "tiny-responses",
  ]);
  const scripted = models.find(({ slug }) => slug === "scripted")!;
  assertEquals([scripted.context_window, scripted.input_modalities], [100_000, ["text", "image"]]);
  const levels = Array.isArray(scripted.supported_reasoning_levels) ? scripted.supported_reasoning_levels : [];
  assertEquals(levels.filter(isJsonObject).map(({ effort }) => effort), ["low", "high"]);
  assertEquals(models.map((model) => model.apply_patch_tool_type), models.map(() => "freeform"));
  assertMatch(String(scripted.base_instructions), /\*\*\* Begin Patch\n/);
}

for (const [gateway, config, status] of [["with keys", CONFIG, 401], ["without keys", OPEN, 200]] as const) {
  test(`the doctor is content with a gateway ${gateway}`, async ({ codex }) => {
    const { code, text, exchanges } = await codex(["doctor", "--json", "--network-only"]);
    const report: JsonObject = JSON.parse(text);
    assertEquals([code, report.overallStatus], [0, "ok"]);
    const checks = isJsonObject(report.checks) ? Object.values(report.checks).filter(isJsonObject) : [];
    assertEquals(checks.filter((check) => check.status !== "ok"), []);
    assertEquals(checks.some(({ id }) => id === "network.provider_reachability"), true);
    const listed = exchanges.find(({ path }) => path === "/oss/v1/models");
    assertEquals([listed?.method, listed?.status], ["GET", status]);
    assertEquals(exchanges.map(({ headers }) => headers.has("authorization")), exchanges.map(() => false));
  }, { config });
}

// What is said

/** A pixel, as a PNG. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const DONE = "data: [DONE]\n\n";

interface Called {
  name: string;
  input: JsonObject;
}

function toolCall(index: number, { name, input }: Called): JsonObject {
  return { index, id: `call_${index + 1}`, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

/** Calls tools, their arguments in pieces, and says a text after their results. */
function calling(called: readonly Called[], text: string): (call: number) => Response {
  const pieces = called.flatMap((one, index) => {
    const whole = JSON.stringify(one.input);
    const head = { ...toolCall(index, one), function: { name: one.name, arguments: "" } };
    const rest = whole.match(/[^]{1,7}/g)!.map((piece) => ({ index, function: { arguments: piece } }));
    return [head, ...rest].map((tool_call) => frame({ delta: { tool_calls: [tool_call] } }));
  });
  const end = frame({ delta: {}, finish_reason: "tool_calls" });
  return (number) => answerStream(number === 0 ? [...pieces, end, DONE] : [word(text), ENDING]);
}

function responsesOf({ exchanges }: Run): Exchange[] {
  return exchanges.filter(({ method, path }) => method === "POST" && path === "/oss/v1/responses");
}

/** The response that a stream ends with. The stream is as it must be: named events, counted, and `[DONE]`. */
async function endingOf({ answer }: Exchange): Promise<JsonObject> {
  const frames = (await answer).split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
  assertEquals(frames.pop(), "data: [DONE]");
  const events = frames.map((frame, number) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    const event: JsonObject = JSON.parse(data ?? "{}");
    assertEquals([event.type, event.sequence_number], [name, number]);
    return event;
  });
  assertEquals(events.slice(0, 2).map(({ type }) => type), ["response.created", "response.in_progress"]);
  const { type, response } = events.at(-1) ?? {};
  if (!isJsonObject(response)) throw new Error("The stream does not end with a response");
  assertEquals(type, `response.${response.status}`);
  // A stream that broke leaves its last item open.
  if (response.status !== "failed") {
    const done = events.filter((event) => event.type === "response.output_item.done");
    assertEquals(done.map(({ item }) => item), outputOf(response), "what was told is what the response holds");
  }
  return response;
}

function outputOf({ output }: JsonObject, type?: string): JsonObject[] {
  const items = Array.isArray(output) ? output.filter(isJsonObject) : [];
  return items.filter((item) => type === undefined || item.type === type);
}

function inputOf({ body }: Exchange, type?: string): JsonObject[] {
  const items = Array.isArray(body.input) ? body.input.filter(isJsonObject) : [];
  return items.filter((item) => type === undefined || item.type === type);
}

/** The texts of a message's content, one after the other. */
function partsOf({ content }: JsonObject): string {
  return (Array.isArray(content) ? content.filter(isJsonObject) : []).map(({ text }) => text).join("");
}

function textsOf(response: JsonObject): string[] {
  return outputOf(response, "message").map(partsOf);
}

function withoutId({ id: _, ...item }: JsonObject): JsonObject {
  return item;
}

function sum(responses: readonly JsonObject[], key: string): number {
  return responses.reduce((total, { usage }) => total + (isJsonObject(usage) ? Number(usage[key]) : NaN), 0);
}

/** What Codex showed of the turn: the items of a type. */
function itemsIn({ lines }: Run, type: string): JsonObject[] {
  return lines.filter((line) => line.type === "item.completed").map(({ item }) => item).filter(isJsonObject)
    .filter((item) => item.type === type);
}

function saidIn(run: Run): string[] {
  return itemsIn(run, "agent_message").map(({ text }) => String(text));
}

/** Warnings and errors that did not end the turn. */
function errorsOf(run: Run): JsonObject[] {
  return [...itemsIn(run, "error"), ...run.lines.filter(({ type }) => type === "error")];
}

/** Why the turn failed, as it is shown. */
function failureIn({ lines }: Run): string {
  const { error } = lines.find(({ type }) => type === "turn.failed") ?? {};
  return isJsonObject(error) ? String(error.message) : "";
}

function usageIn({ lines }: Run): JsonObject {
  const { usage } = lines.find(({ type }) => type === "turn.completed") ?? {};
  return isJsonObject(usage) ? usage : {};
}

/** The turns of a request of the chat wire. */
function turnsOf({ messages }: JsonObject): JsonObject[] {
  return Array.isArray(messages) ? messages.filter(isJsonObject) : [];
}

/** Of each call of a turn of the chat wire, its id, its tool's name, and its arguments. */
function callsIn({ tool_calls }: JsonObject): unknown[][] {
  return (Array.isArray(tool_calls) ? tool_calls.filter(isJsonObject) : []).map(({ id, function: called }) =>
    isJsonObject(called) ? [id, called.name, called.arguments] : [id]
  );
}

function toolOf({ tools }: JsonObject, name: string): JsonObject | undefined {
  return (Array.isArray(tools) ? tools.filter(isJsonObject) : []).find((tool) =>
    isJsonObject(tool.function) && tool.function.name === name
  );
}

test(
  "a search of the web runs in the gateway, is shown, and its results come back in the next turn",
  async ({ exec, sent }) => {
    const live = ["--config", 'web_search="live"', "--model", "scripted"];
    const run = await exec([...live, "What is the weather in Oslo?"]);
    assertEquals(run.code, 0, run.text);
    const items = run.lines.flatMap(({ type, item }) => type === "item.completed" && isJsonObject(item) ? [item] : []);
    assert(items.some(({ type, query }) => type === "web_search" && query === "Oslo weather"), run.text);
    assert(items.some(({ type, text }) => type === "agent_message" && text === "It rains in Oslo [1]."), run.text);
    const again = await exec(["resume", "--last", ...live, "And now?"]);
    assertEquals(again.code, 0, again.text);
    const last = sent.findLast((body) => Array.isArray(body.messages))!;
    assertStringIncludes(JSON.stringify(last.messages), "Rain, 7 degrees");
  },
  {
    config: { ...CONFIG, hostedTools: SEARCHED_BY_SCRIPT },
    script: searching(() => answerStream([word("No search."), ENDING])),
  },
);
