import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { mock } from "node:test";
import { AnswerForms, readForms } from "../../../plugins/shared/text_forms/answer_forms.ts";
import { textFormsFor } from "../../../plugins/shared/text_forms/answer_forms.ts";
import { type TextEvent, TextForms } from "../../../plugins/shared/text_forms/text_forms.ts";
import { chatDriver } from "../../../plugins/chat/mod.ts";
import { collect } from "../../../src/canonical/collect.ts";
import { replay } from "../../../src/canonical/replay.ts";
import { runUnsliced } from "../../../src/util/sliced_work.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse, Tool } from "../../../src/canonical/generate.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { Target, UpstreamOperation } from "../../../src/contract/driver.ts";
import { readFrames } from "../../support/sources.ts";
import { bodyOf, toArray } from "../../support/chunks.ts";
import { newContext } from "../../support/context.ts";
import { readEvents } from "../../../src/programs/testing/stages.ts";
import { assertWellFormed } from "../../../src/programs/testing/well_formed.ts";
import { CHAT, chatBody, CONFIG, newApp, type TestApp } from "../../support/app.ts";
import { ANSWER, answerStream, answerWhole, ENDING, frame, word } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { turnsDuring } from "../../support/turns.ts";
import { law } from "../../support/law.ts";
import { TARGET } from "../../support/wires.ts";
import { assertCheap } from "../../support/cost.ts";

const WEATHER: JsonObject = {
  type: "object",
  properties: { location: { type: "string" }, days: { type: "integer" }, at: { type: ["string", "null"] } },
};
const TOOLS: Tool[] = [
  { type: "function", name: "get_weather", parameters: WEATHER },
  { type: "function", name: "get", parameters: { type: "object", properties: {} } },
  { type: "custom", name: "patch" },
];

interface Call {
  name: string;
  args: JsonObject;
}

const OSLO: Call = { name: "get_weather", args: { location: "Oslo" } };

interface Options {
  tools?: Tool[];
  model?: string;
  toolChoice?: GenerateRequest["toolChoice"];
}

function newForms({ tools = TOOLS, model = "org/model", toolChoice }: Options = {}): TextForms {
  const input: GenerateRequest = { model: "m", messages: [], stream: true, tools, toolChoice };
  return textFormsFor(input, { ...TARGET, model, textForms: "parse" })!;
}

/** The events of the pieces, with the pieces of one text put together. */
function readPieces(pieces: readonly string[], options?: Options): TextEvent[] {
  const forms = newForms(options);
  return joined([...pieces.flatMap((piece) => forms.read(piece)), ...forms.end()]);
}

function joined(events: readonly TextEvent[]): TextEvent[] {
  const all: TextEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (event.type !== "call" && last && last.type === event.type) last.text += event.text;
    else all.push({ ...event });
  }
  return all;
}

function parsed(events: readonly TextEvent[]): unknown[] {
  return events.map((event) =>
    event.type === "call" ? { name: event.name, args: JSON.parse(event.input) } : { [event.type]: event.text }
  );
}

/** The text whole, in single characters, in every two pieces, and in every three where it is short. */
function* cuttings(text: string): Generator<string[]> {
  yield [text];
  yield text.split("");
  for (let first = 1; first < text.length; first++) {
    yield [text.slice(0, first), text.slice(first)];
    if (text.length > 130) continue;
    for (let second = first + 1; second < text.length; second++) {
      yield [text.slice(0, first), text.slice(first, second), text.slice(second)];
    }
  }
}

function assertReads(text: string, expected: unknown[], options?: Options): void {
  for (const pieces of cuttings(text)) {
    const found = parsed(readPieces(pieces, options));
    if (JSON.stringify(found) !== JSON.stringify(expected)) assertEquals(found, expected, JSON.stringify(pieces));
  }
}

const json = (call: Call, key: string) => JSON.stringify({ name: call.name, [key]: call.args });
const asText = (value: JsonValue | undefined) => typeof value === "string" ? value : JSON.stringify(value);
const each = (call: Call, render: (key: string, value: string, isString: boolean) => string) =>
  Object.entries(call.args).map(([key, value]) => render(key, asText(value), typeof value === "string")).join("");
const invokes = (prefix: string, call: Call) =>
  `<${prefix}invoke name="${call.name}">\n` +
  each(call, (key, value) => `<${prefix}parameter name="${key}">${value}</${prefix}parameter>\n`) +
  `</${prefix}invoke>\n`;
const functionTag = (call: Call) =>
  `<function=${call.name}>\n${each(call, (key, value) => `<parameter=${key}>\n${value}\n</parameter>\n`)}</function>`;

const K3_TYPES: Record<string, string> = { string: "string", number: "number" };
const inBraces = (call: Call, mark: string) =>
  `call:${call.name}{${
    Object.entries(call.args).map(([key, value]) => `${key}:${typeof value === "string" ? mark + value + mark : value}`)
      .join(",")
  }}`;
const inPython = (call: Call) =>
  `${call.name}(${Object.entries(call.args).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`;
const listed = (calls: Call[], key: string, name = "name") =>
  JSON.stringify(calls.map((call) => ({ [name]: call.name, [key]: call.args })));
const M3 = "]<]minimax[>[";
const dsml = (bars: string, calls: Call[]) =>
  `<${bars}tool_calls>\n${
    calls.map((call) =>
      `<${bars}invoke name="${call.name}">\n${
        each(
          call,
          (key, value, isString) =>
            `<${bars}parameter name="${key}" string="${isString}">${value}</${bars}parameter>\n`,
        )
      }</${bars}invoke>\n`
    ).join("")
  }</${bars}tool_calls>`;

/** How each family writes calls. */
const FORMS: Record<string, (calls: Call[]) => string> = {
  "Hermes": (calls) => calls.map((call) => `<tool_call>\n${json(call, "arguments")}\n</tool_call>`).join("\n"),
  "Hermes without line ends": (calls) =>
    calls.map((call) => `<tool_call>${json(call, "arguments")}</tool_call>`).join(""),
  "Qwen coder": (calls) => calls.map((call) => `<tool_call>\n${functionTag(call)}\n</tool_call>`).join("\n"),
  "Qwen coder without the outer tag": (calls) => calls.map(functionTag).join("\n"),
  "Qwen coder with half the outer tag": (calls) => calls.map((call) => `${functionTag(call)}\n</tool_call>`).join("\n"),
  "Llama python tag": (calls) => `<|python_tag|>${calls.map((call) => json(call, "parameters")).join("; ")}`,
  "Mistral list": (calls) =>
    `[TOOL_CALLS] [${calls.map((call) => JSON.stringify({ name: call.name, arguments: call.args })).join(", ")}]`,
  "Mistral names": (calls) =>
    calls.map((call) => `[TOOL_CALLS]${call.name}[ARGS]${JSON.stringify(call.args)}`).join(""),
  "Mistral names with ids": (calls) =>
    calls.map((call) => `[TOOL_CALLS]${call.name}[CALL_ID]a1b2c3d4e[ARGS]${JSON.stringify(call.args)}`).join(""),
  "Mistral names alone": (calls) =>
    calls.map((call) => `[TOOL_CALLS]${call.name}${JSON.stringify(call.args)}`).join(""),
  "DeepSeek": (calls) =>
    `<｜tool▁calls▁begin｜>${
      calls.map((call) =>
        `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${call.name}\n\`\`\`json\n${
          JSON.stringify(call.args)
        }\n\`\`\`<｜tool▁call▁end｜>`
      ).join("\n")
    }<｜tool▁calls▁end｜><｜end▁of▁sentence｜>`,
  "DeepSeek 3.1": (calls) =>
    `<｜tool▁calls▁begin｜>${
      calls.map((call) =>
        `<｜tool▁call▁begin｜>${call.name}<｜tool▁sep｜>${JSON.stringify(call.args)}<｜tool▁call▁end｜>`
      ).join("")
    }<｜tool▁calls▁end｜>`,
  "DeepSeek DSML": (calls) =>
    `<｜DSML｜function_calls>\n${
      calls.map((call) =>
        `<｜DSML｜invoke name="${call.name}">\n${
          each(
            call,
            (key, value, isString) =>
              `<｜DSML｜parameter name="${key}" string="${isString}">${value}</｜DSML｜parameter>\n`,
          )
        }</｜DSML｜invoke>\n`
      ).join("")
    }</｜DSML｜function_calls>`,
  "GLM": (calls) =>
    calls.map((call) =>
      `<tool_call>${call.name}\n${
        each(call, (key, value) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`)
      }</tool_call>`
    ).join("\n"),
  "Kimi": (calls) =>
    `<|tool_calls_section_begin|>${
      calls.map((call, index) =>
        `<|tool_call_begin|>functions.${call.name}:${index}<|tool_call_argument_begin|>${
          JSON.stringify(call.args)
        }<|tool_call_end|>`
      ).join("")
    }<|tool_calls_section_end|>`,
  "MiniMax": (calls) => `<minimax:tool_call>\n${calls.map((call) => invokes("", call)).join("")}</minimax:tool_call>`,
  "Kimi without its section": (calls) =>
    calls.map((call, index) =>
      `<|tool_call_begin|>functions.${call.name}:${index}<|tool_call_argument_begin|>${
        JSON.stringify(call.args)
      }<|tool_call_end|>`
    ).join("\n"),
  "Kimi K3": (calls) =>
    `<|open|>tools<|sep|>${
      calls.map((call, index) =>
        `<|open|>call tool="${call.name}" index="${index + 1}"<|sep|>${
          Object.entries(call.args).map(([key, value]) =>
            `<|open|>argument key="${key}" type="${K3_TYPES[typeof value]}"<|sep|>${
              asText(value)
            }<|close|>argument<|sep|>`
          ).join("")
        }<|close|>call<|sep|>`
      ).join("")
    }<|close|>tools<|sep|>`,
  "Kimi K3 with JSON": (calls) =>
    `<|open|>tools<|sep|>${
      calls.map((call) =>
        `<|open|>call tool="${call.name}" index="1"<|sep|><|open|>json type="object"<|sep|>${
          JSON.stringify(call.args)
        }<|close|>json<|sep|><|close|>call<|sep|>`
      ).join("")
    }<|close|>tools<|sep|>`,
  "MiniMax M3": (calls) =>
    `${M3}<tool_call>\n${
      calls.map((call) =>
        `${M3}<invoke name="${call.name}">${
          each(call, (key, value) => `${M3}<${key}>${value}${M3}</${key}>`)
        }${M3}</invoke>\n`
      ).join("")
    }${M3}</tool_call>`,
  "tags of functions": (calls) =>
    `<function_calls>\n${calls.map((call) => invokes("", call)).join("")}</function_calls>`,
  "DeepSeek DSML with single bars": (calls) => dsml("|DSML|", calls),
  "DeepSeek DSML with double bars": (calls) => dsml("｜｜DSML｜｜", calls),
  "Gemma 4": (calls) => calls.map((call) => `<|tool_call>${inBraces(call, '<|"|>')}<tool_call|>`).join(""),
  "FunctionGemma": (calls) =>
    calls.map((call) => `<start_function_call>${inBraces(call, "<escape>")}<end_function_call>`).join(""),
  "Seed-OSS": (calls) => `<seed:tool_call>\n${calls.map(functionTag).join("\n")}\n</seed:tool_call>`,
  "LFM2": (calls) => `<|tool_call_start|>[${calls.map(inPython).join(", ")}]<|tool_call_end|>`,
  "Granite": (calls) => `<|tool_call|>${listed(calls, "arguments")}`,
  "Nemotron": (calls) => `<TOOLCALL>${listed(calls, "arguments")}</TOOLCALL>`,
  "Hunyuan": (calls) => `<tool_calls>${listed(calls, "arguments")}</tool_calls>`,
  "Cohere": (calls) => `<|START_ACTION|>${listed(calls, "parameters", "tool_name")}<|END_ACTION|>`,
  "InternLM": (calls) =>
    calls.map((call) => `<|action_start|><|plugin|>${json(call, "parameters")}<|action_end|>`).join("\n"),
  "harmony": (calls) =>
    calls.map((call) =>
      `<|channel|>commentary to=functions.${call.name} <|constrain|>json<|message|>${JSON.stringify(call.args)}<|call|>`
    ).join("<|start|>assistant"),
  "harmony, addressed first": (calls) =>
    calls.map((call) =>
      `<|start|>assistant to=functions.${call.name}<|channel|>commentary json<|message|>${
        JSON.stringify(call.args)
      }<|call|>`
    ).join(""),
};

for (const [family, render] of Object.entries(FORMS)) {
  Deno.test(`text forms: ${family}: a call is found however its text is cut`, () => {
    assertReads(render([OSLO]), [OSLO]);
    assertReads(render([{ name: "get", args: {} }]), [{ name: "get", args: {} }]);
    const calls = [OSLO, { name: "get_weather", args: { location: 'a "b"\n} \\ c', days: 2, at: "12" } }];
    assertReads(render(calls), calls);
  });

  Deno.test(`text forms: ${family}: what comes before a call is text`, () => {
    if (family.startsWith("harmony")) return;
    assertReads(`I will look.\n${render([OSLO])}`, [{ text: "I will look.\n" }, OSLO]);
    assertReads(`<think>Hm</think>\n\n${render([OSLO])}\n`, [{ reasoning: "Hm" }, OSLO]);
  });

  Deno.test(`text forms: ${family}: a call of a tool that was not offered stays text`, () => {
    const text = render([{ name: "get_weathers", args: { location: "Oslo" } }]);
    assertReads(text, [{ text }]);
    assertReads(render([OSLO]), [{ text: render([OSLO]) }], { tools: [] });
    assertReads(render([OSLO]), [{ text: render([OSLO]) }], { toolChoice: { type: "none" } });
    assertReads(render([OSLO]), [{ text: render([OSLO]) }], {
      toolChoice: { type: "allowed", mode: "auto", names: ["get"] },
    });
  });

  Deno.test(`text forms: ${family}: a call in code, or in a sentence, stays text`, () => {
    for (
      const [before, after] of [["```\n", "\n```\n"], ["So: `", "`"], ['They write "', '" there'], ["~~~x\n", "\n"]]
    ) {
      const text = before + render([OSLO]) + after;
      assertReads(text, [{ text }]);
    }
    const text = `A model may write ${render([OSLO]).replace("<｜end▁of▁sentence｜>", "")} for a call.`;
    assertReads(text, [{ text }]);
  });

  Deno.test(`text forms: ${family}: a call that is cut off stays text`, () => {
    const text = render([OSLO]);
    for (let length = 1; length < text.indexOf("Oslo"); length++) {
      const cut = text.slice(0, length);
      assertEquals(readPieces(cut.split("")), [{ type: "text", text: cut }]);
    }
  });
}

const VALUES = fc.record({
  location: fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !text.includes("<") && text.trim() === text),
  days: fc.integer(),
}, { requiredKeys: [] });
const CALLS = fc.array(
  fc.record({ name: fc.constantFrom("get_weather"), args: VALUES as fc.Arbitrary<JsonObject> }),
  { minLength: 1, maxLength: 4 },
);
const CUTS = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 });

function cut(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, index = 0; at < text.length; index++) {
    const length = lengths[index % lengths.length]!;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

for (const [family, render] of Object.entries(FORMS)) {
  law(
    `text forms: ${family}: any calls are found, however their text is cut`,
    fc.tuple(CALLS, CUTS),
    ([calls, cuts]) => {
      assertEquals<unknown[]>(parsed(readPieces(cut(render(calls), cuts))), calls);
    },
  );
}

const PLAIN = fc.string({ unit: fc.constantFrom(..."ab .,\n`~{}[]\"':|/\\é漢😀") }).filter((text) => text !== "");
law("text forms: a text without marks comes out as it is, however it is cut", fc.tuple(PLAIN, CUTS), ([text, cuts]) => {
  assertEquals(readPieces(cut(text, cuts)), [{ type: "text", text }]);
});

const SCRAPS = [
  ..."<>[]{}|`\n \"':a",
  "```",
  "<tool_call>",
  "</tool_call>",
  "<|open|>",
  "<|close|>",
  "call",
  "<|sep|>",
  "]<]minimax[>[",
  "<|tool_call>call:get{",
  "<|channel>",
  "[get(",
  "<function=get>",
  "<parameter=a>",
  "<|python_tag|>",
  "[TOOL_CALLS]",
  "[ARGS]",
  "<｜tool▁calls▁begin｜>",
  "<｜tool▁call▁begin｜>",
  "<|tool_calls_section_begin|>",
  '{"name":"get_weather"',
  '{"name": "get", "x": 1}',
  "get_weather",
];
law(
  "text forms: scraps of forms lose nothing, and read the same however they are cut",
  fc.tuple(fc.array(fc.constantFrom(...SCRAPS)).map((scraps) => scraps.join("")), CUTS),
  ([text, cuts]) => {
    const events = readPieces([text]);
    assertEquals(readPieces(cut(text, cuts)), events);
    if (text !== "" && events.every(({ type }) => type === "text")) assertEquals(events, [{ type: "text", text }]);
    assertEquals(readPieces(cut(text, cuts), { tools: [] }), text === "" ? [] : [{ type: "text", text }]);
  },
);

Deno.test("text forms: an answer that is one call as JSON is a call", () => {
  for (const key of ["parameters", "arguments"]) {
    assertReads(json(OSLO, key), [OSLO]);
    assertReads(`\n${JSON.stringify({ type: "function", name: "get_weather", [key]: OSLO.args }, null, 1)}\n`, [OSLO]);
  }
});

const LOOK_ALIKES: Record<string, string> = {
  "JSON with something after it": `${json(OSLO, "parameters")} is the call`,
  "JSON after something": `Here: ${json(OSLO, "parameters")}`,
  "JSON without arguments": '{"name":"get_weather","age":3}',
  "JSON of another thing": '{"name":"get","value":[1,2,{"a":"b"}]}',
  "a list": '[{"name":"get","parameters":{}}]',
  "JSON that does not parse": "<tool_call>\n{'name': 'get', 'arguments': {}}\n</tool_call>",
  "JSON with a comma too many": '<tool_call>{"name":"get","arguments":{},}</tool_call>',
  "arguments that are no object": '<tool_call>{"name":"get","arguments":[1]}</tool_call>',
  "arguments of text that is not JSON": '<tool_call>{"name":"get","arguments":"x"}</tool_call>',
  "a tag alone": "The tag is\n<tool_call>\nand so on",
  "tags around words": "<tool_call> hello </tool_call>",
  "a comparison": "if a <b and c<d [x] {y} then",
  "reasoning amid the text": "First.\n<think>\nis a tag</think>",
  "a mark alone": "[TOOL_CALLS]",
  "a wrong header": "<|channel|>secret<|message|>x",
  "an end without a beginning": "x </think> y",
  "an unknown recipient": "<|channel|>commentary to=functions.rm <|message|>{}<|call|>",
};

for (const [what, text] of Object.entries(LOOK_ALIKES)) {
  Deno.test(`text forms: ${what} stays text`, () => assertReads(text, [{ text }]));
}

Deno.test("text forms: a call follows what only looks like one", () => {
  const bad = '<tool_call>{"name":"rm","arguments":{}}</tool_call>\n';
  assertReads(`${bad}${FORMS.Hermes!([OSLO])}`, [{ text: bad }, OSLO]);
  assertReads(`<tool_call> ${FORMS["Hermes without line ends"]!([OSLO])}`, [{ text: "<tool_call> " }, OSLO]);
});

Deno.test("text forms: code in a line goes on to its end or to that of its paragraph", () => {
  const call = FORMS.Hermes!([OSLO]);
  assertReads(`See \`a\n${call}\n\``, [{ text: `See \`a\n${call}\n\`` }]);
  assertReads(`Run \`a\` and \`\`b\`c\`\`.\n${call}`, [{ text: "Run `a` and ``b`c``.\n" }, OSLO]);
  assertReads(`It\`s so.\n\n${call}`, [{ text: "It`s so.\n\n" }, OSLO]);
});

Deno.test("text forms: what follows a call is text again", () => {
  assertReads(`${FORMS.Hermes!([OSLO])}\n\nDone`, [OSLO, { text: "\n\nDone" }]);
});

Deno.test("text forms: a closing mark that the model stops with may be missing", () => {
  for (const family of ["Hermes", "Qwen coder", "DeepSeek 3.1", "Kimi", "harmony"]) {
    const text = FORMS[family]!([OSLO]);
    const [end] = /\s*<[^<>]*>$/.exec(text)!;
    assertReads(text.slice(0, -end.length), [OSLO]);
  }
});

Deno.test("text forms: numbers and texts of JSON come as the model wrote them", () => {
  const args = '{"a": 12345678901234567890, "b": 1.0}';
  assertEquals(readPieces([`<tool_call>{"name": "get", "arguments": ${args}}</tool_call>`]), [
    { type: "call", name: "get", input: args },
  ]);
  assertEquals(readPieces([`<tool_call>{"name": "get", "arguments": {"a":1}, "arguments": ${args}}</tool_call>`]), [
    { type: "call", name: "get", input: args },
  ]);
  const text = JSON.stringify({ name: "get", arguments: args });
  assertEquals(readPieces([`<tool_call>${text}</tool_call>`]), [{ type: "call", name: "get", input: args }]);
});

Deno.test("text forms: tagged arguments are strings where the tool's schema says so, else JSON", () => {
  const text = "<function=get_weather><parameter=location>12</parameter><parameter=days>12</parameter>" +
    "<parameter=at>\n{}\n\n</parameter><parameter=new>[1]</parameter><parameter=other>x y</parameter></function>";
  const args = { location: "12", days: 12, at: "{}\n", new: [1], other: "x y" };
  assertReads(text, [{ name: "get_weather", args }]);
});

Deno.test("text forms: the input of a custom tool is a string", () => {
  assertReads("<function=patch><parameter=input>\n[1]\n</parameter></function>", [{
    name: "patch",
    args: { input: "[1]" },
  }]);
});

Deno.test("text forms: nested values are objects and lists", () => {
  const args = { location: "Oslo", stops: [{ city: "a}", n: 1 }, [true, null]], more: { at: { x: "," } } };
  const found = { name: "get", args };
  assertReads(
    '<|tool_call>call:get{location:<|"|>Oslo<|"|>,stops:[{city:<|"|>a}<|"|>,<|"|>n<|"|>:1},[true, null]],' +
      'more:{"at":{x:","}}}<tool_call|>',
    [found],
  );
  assertReads(
    `[get(location='Oslo', stops=[{'city': "a}", 'n': 1}, [True, None]], more={"at": {"x": ","}})]`,
    [found],
  );
  const tag = (key: string, inner: string) => `${M3}<${key}>${inner}${M3}</${key}>`;
  const list = tag("item", tag("city", "a}") + tag("n", "1")) + tag("item", tag("item", "true") + tag("item", "null"));
  assertReads(
    `${M3}<tool_call>\n${M3}<invoke name="get">${tag("location", "Oslo")}${tag("stops", list)}${
      tag("more", tag("at", tag("x", ",")))
    }${M3}</invoke>\n${M3}</tool_call>`,
    [found],
  );
});

Deno.test("text forms: an argument of DSML may be in its tag", () => {
  const text = dsml("｜DSML｜", [{ name: "get", args: {} }]);
  const bars = "<｜DSML｜parameter name=";
  const own =
    `${bars}"a" string="true" value="x y"/>\n${bars}"b" string="false" value="2" />\n${bars}"c" string="true"/>\n`;
  assertReads(text.replace("</｜DSML｜invoke>", `${own}</｜DSML｜invoke>`), [{
    name: "get",
    args: { a: "x y", b: 2, c: "" },
  }]);
});

Deno.test("text forms: a mark whose beginning comes twice ends a value", () => {
  const call = FORMS["Kimi K3"]!([{ name: "get_weather", args: { location: "a<|close|>argument<" } }]);
  assertReads(call, [{ name: "get_weather", args: { location: "a<|close|>argument<" } }]);
});

for (
  const [family, text, expected] of [
    [
      "Kimi K3",
      "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Yes<|close|>response<|sep|>" +
      "<|close|>message<|sep|><|end_of_msg|>",
      [{ reasoning: "hm" }, { text: "Yes" }],
    ],
    ["Gemma 4", "<|channel>thought\nhm\n<channel|>Yes", [{ reasoning: "hm\n" }, { text: "Yes" }]],
    ["Cohere", "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Yes<|END_RESPONSE|>", [{ reasoning: "hm" }, {
      text: "Yes",
    }]],
    ["Hunyuan", "<think>hm</think>\n<answer>Yes</answer>", [{ reasoning: "hm" }, { text: "Yes" }]],
    ["Seed-OSS", "<seed:think>hm</seed:think>Yes", [{ reasoning: "hm" }, { text: "Yes" }]],
    ["any", "</think>\n\nYes", [{ text: "Yes" }]],
    ["any", "<think>hm</think></think>Yes", [{ reasoning: "hm" }, { text: "Yes" }]],
  ] as const
) {
  Deno.test(`text forms: ${family}: thoughts and text are told apart in ${text.slice(0, 24)}, and no mark is left`, () => {
    assertReads(text, [...expected]);
    assertReads(text, [...expected], { tools: [] });
  });
}

Deno.test("text forms: tags that close nothing after a call are dropped", () => {
  for (const end of ["</arg_value>", "</parameter>\n</function>", "<|im_end|>"]) {
    assertReads(FORMS.Hermes!([OSLO]) + end, [OSLO]);
  }
});

const CLOSED = ["think", "thinking", "mm:think"].map((tag) => [`<${tag}>`, `</${tag}>`]);
for (const [open, close] of [...CLOSED, ["[THINK]", "[/THINK]"]]) {
  Deno.test(`text forms: what stands between ${open} and ${close} is reasoning`, () => {
    const hm = "a < b </thin [/T ok";
    assertReads(`${open}\n${hm}${close}\n\nYes`, [{ reasoning: hm }, { text: "Yes" }], { tools: [] });
    assertReads(`\n${open}${hm}`, [{ reasoning: hm }]);
    assertReads(`${open}${close}Yes ${open}`, [{ text: `Yes ${open}` }]);
  });
}

Deno.test("text forms: reasoning that the template opens is closed by its tag", () => {
  for (const model of ["deepseek-ai/DeepSeek-R1", "Qwen/QwQ-32B", "Qwen/Qwen3-30B-A3B-Thinking-2507"]) {
    assertReads("Hm\n</think>\n\nYes", [{ reasoning: "Hm\n" }, { text: "Yes" }], { model });
    assertReads("<think>\nHm</think>Yes", [{ reasoning: "Hm" }, { text: "Yes" }], { model });
  }
});

Deno.test("text forms: an engine's unread text says what the same engine tells when it reads it itself", () => {
  const call = (location: string) =>
    `<tool_call>\n{"name": "get_weather", "arguments": {"location":"${location}"}}\n</tool_call>`;
  const weather = (location: string) => ({ name: "get_weather", args: { location } });
  assertReads(`I will check that for you.\n${call("Oslo")}`, [
    { text: "I will check that for you.\n" },
    weather("Oslo"),
  ]);
  assertReads(`<think>\nI should look up the weather first.\n</think>\n\n${call("Rome")}`, [
    { reasoning: "I should look up the weather first.\n" },
    weather("Rome"),
  ]);
  assertReads(`${call("Paris")}\n${call("Tokyo")}`, [weather("Paris"), weather("Tokyo")]);
});

Deno.test("text forms: the channels of harmony are reasoning, text and calls", () => {
  const call = FORMS.harmony!([OSLO]);
  assertReads(
    `<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>` +
      `<|start|>assistant${call}`,
    [{ reasoning: "Hm" }, { text: "I look." }, OSLO],
  );
  assertReads(
    "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>a <b> c<|return|>",
    [{ reasoning: "Hm" }, { text: "a <b> c" }],
    { tools: [] },
  );
});

Deno.test("text forms: no more is held back than what may begin a mark", () => {
  const forms = newForms();
  const read = (text: string) => parsed(forms.read(text));
  assertEquals(read("Hello <"), [{ text: "Hello " }]);
  assertEquals(read("b"), [{ text: "<b" }]);
  assertEquals(read(".\n<tool_"), [{ text: ".\n" }]);
  assertEquals(read("x"), [{ text: "<tool_x" }]);
  assertEquals(read("\n<tool_call>"), [{ text: "\n" }]);
  assertEquals(read("\n"), []);
  assertEquals(read("w"), [{ text: "<tool_call>\nw" }]);
  assertEquals(read("\n<|pyth"), [{ text: "\n" }]);
  assertEquals(parsed(forms.end()), [{ text: "<|pyth" }]);
});

Deno.test("text forms: a hundred thousand marks cost no more than their length", async () => {
  for (
    const scrap of ["<tool_call>", '<tool_call>{"a', "[TOOL_CALLS][", "<｜tool▁calls▁begin｜>", '{"name":"get'].flat()
  ) {
    const text = scrap.repeat(20_000);
    await assertCheap(200, () => assertEquals(readPieces(cut(text, [4])), [{ type: "text", text }]));
  }
  const long = `<tool_call>{"name":"get","arguments":{"a":"${"x\\n".repeat(200_000)}"}}</tool_call>`;
  await assertCheap(200, () => assertEquals(readPieces(cut(long, [4])).length, 1));
});

const DRIVER = chatDriver.operations.generate as UpstreamOperation<"generate">;
law(
  "text forms: an answer is the same whole and streamed, and its events are well formed",
  fc.tuple(fc.array(fc.constantFrom(...SCRAPS, "<think>", "</think>", FORMS.Hermes!([OSLO]), "\n")), CUTS),
  async ([scraps, cuts]) => {
    const text = scraps.join("");
    const input: GenerateRequest = { model: "m", messages: [], stream: true, tools: TOOLS };
    const target: Target = { ...TARGET, textForms: "parse" };
    const frames = [...cut(text, cuts).map(word), ENDING].map((frame) => new TextEncoder().encode(frame));
    const reader = DRIVER.stream!.reader(input, target, newContext());
    const events = readEvents(reader, await toArray(readFrames(bodyOf(frames))));
    assertWellFormed(events);
    const message = { role: "assistant", content: text };
    const body = { model: "org/model", choices: [{ index: 0, message, finish_reason: "stop" }] };
    const whole = DRIVER.response([{ status: 200, headers: new Headers(), body }], input, target, newContext());
    assertEquals(collect(events), whole);
  },
);

// End to end

type Wire = "chat" | "messages" | "responses";

const PARSING = {
  ...CONFIG,
  upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, textForms: "parse" as const } },
};

const TOOL = { name: "get_weather", description: "The weather", parameters: WEATHER };
const ASK: Record<Wire, [string, object]> = {
  chat: [CHAT, { tools: [{ type: "function", function: TOOL }] }],
  messages: ["/oss/v1/messages", { max_tokens: 99, tools: [{ name: TOOL.name, input_schema: WEATHER }] }],
  responses: ["/oss/v1/responses", { tools: [{ type: "function", ...TOOL }], input: "Hello", messages: undefined }],
};

const SAID = `<think>\nHm</think>\n\nI look.\n${FORMS.Hermes!([OSLO])}`;

function newParsing(text: string, more: object = {}, config = PARSING): TestApp {
  const message = { role: "assistant", content: text, ...more };
  return newApp({
    config,
    fetch: fakeUpstream(({ body }) => {
      if (JSON.parse(body).stream) {
        const native = Object.keys(more).length > 0 ? [frame({ delta: more })] : [];
        return answerStream([...cut(text, [3]).map(word), ...native, ENDING]);
      }
      return Response.json({ ...ANSWER, choices: [{ index: 0, message, finish_reason: "stop" }] });
    }).fetch,
  });
}

async function ask(app: TestApp, wire: Wire, stream: boolean): Promise<string> {
  const [path, body] = ASK[wire];
  const response = await app.post(path, { ...chatBody(body), stream });
  const text = await response.text();
  assertEquals(response.status, 200, text);
  return text;
}

for (
  const [wire, marks] of Object.entries(
    {
      chat: [/"reasoning_content":"Hm"/, /"name":"get_weather"/, /"finish_reason":"tool_calls"/],
      messages: [/"thinking":"Hm"/, /"name":"get_weather"/, /"stop_reason":"tool_use"/],
      responses: [/"text":"Hm"/, /"name":"get_weather"/, /"type":"function_call"/],
    } satisfies Record<Wire, RegExp[]>,
  )
) {
  Deno.test(`text forms: a client of ${wire} gets reasoning, text and a call, whole and streamed`, async () => {
    for (const stream of [false, true]) {
      const text = await ask(newParsing(SAID), wire as Wire, stream);
      for (const mark of marks) if (!stream || !mark.source.includes("Hm")) assert(mark.test(text), `${mark}: ${text}`);
      assert(text.includes("Oslo") && !text.includes("<think>") && !text.includes("tool_call>"), text);
    }
  });
}

const choiceOf = (text: string) => JSON.parse(text).choices[0];

Deno.test("text forms: calls that the upstream tells itself win, and the text is left alone", async () => {
  const more = {
    tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "get_weather", arguments: "{}" } }],
  };
  for (const text of [FORMS.Hermes!([OSLO]), `I look.\n${FORMS.Hermes!([OSLO])}\n\nDone`, "<tool_call>"]) {
    const { message } = choiceOf(await ask(newParsing(text, more), "chat", false));
    assertEquals([message.content, message.tool_calls.map(({ id }: { id: string }) => id)], [text, ["c1"]]);
    const streamed = await ask(newParsing(text, more), "chat", true);
    const deltas = streamed.split("\n\n").filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice(6)).choices[0]?.delta ?? {});
    assertEquals(deltas.map(({ content }) => content ?? "").join(""), text);
    assertEquals(deltas.flatMap(({ tool_calls }) => tool_calls ?? []).flatMap(({ id }) => id ?? []), ["c1"]);
  }
});

Deno.test("text forms: an answer of one call is complete where the upstream says no more than that it is done", async () => {
  const frames = [...cut(FORMS.Hermes!([OSLO]), [3]).map(word), "data: [DONE]\n\n"];
  const app = newApp({ config: PARSING, fetch: fakeUpstream(() => answerStream(frames)).fetch });
  assert(/"finish_reason":"tool_calls"/.test(await ask(app, "chat", true)));
});

Deno.test("text forms: reasoning that the upstream tells itself is not looked for in the text", async () => {
  const config = structuredClone(PARSING);
  config.lanes.oss.models.model.targets[0]!.model = "deepseek-ai/DeepSeek-R1";
  const { message } = choiceOf(await ask(newParsing("Yes", { reasoning_content: "Hm" }, config), "chat", false));
  assertEquals([message.reasoning_content, message.content], ["Hm", "Yes"]);
});

Deno.test("text forms: what an alias says goes before what its upstream says", async () => {
  const withAlias = (upstream: "parse" | "leave" | undefined, alias: "parse" | "leave" | undefined) => {
    const config = structuredClone({
      ...CONFIG,
      upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, textForms: upstream } },
    });
    Object.assign(config.lanes.oss.models.model, { textForms: alias });
    return config as typeof PARSING;
  };
  for (
    const [upstream, alias, isRead] of [
      [undefined, undefined, false],
      ["parse", undefined, true],
      ["parse", "leave", false],
      ["leave", "parse", true],
      [undefined, "parse", true],
    ] as const
  ) {
    const choice = choiceOf(await ask(newParsing(SAID, {}, withAlias(upstream, alias)), "chat", false));
    assertEquals(choice.message.tool_calls !== undefined, isRead, `${upstream} ${alias}`);
    assertEquals(choice.message.content, isRead ? "I look.\n" : SAID);
  }
});

Deno.test("text forms: a target that leaves texts has no reader of them", async () => {
  const input: GenerateRequest = { model: "m", messages: [], stream: true, tools: TOOLS };
  assertEquals(textFormsFor(input, TARGET), undefined);
  assertEquals(textFormsFor(input, { ...TARGET, textForms: "leave" }), undefined);
  const read = mock.method(TextForms.prototype, "read");
  try {
    await ask(newApp({ fetch: fakeUpstream(() => answerWhole(SAID)).fetch }), "chat", false);
    assertEquals(read.mock.callCount(), 0);
  } finally {
    read.mock.restore();
  }
});

// Wires whose readers leave texts as they are

function readAnswer(
  events: readonly GenerateEvent[],
  textForms: "parse" | "auto",
  model = "org/model",
): GenerateEvent[] {
  const input: GenerateRequest = { model: "m", messages: [], stream: true, tools: TOOLS };
  const forms = textFormsFor(input, { ...TARGET, model, textForms })!;
  const read = runUnsliced(readForms(events, new AnswerForms(forms, input, newContext())));
  assertWellFormed(read);
  return read;
}

const USAGE = { inputTokens: 1, outputTokens: 1 };

law(
  "text forms: the texts of any wire's answer hold what they hold in chat, whole and in increments",
  fc.tuple(fc.array(fc.constantFrom(...SCRAPS, "<think>", "</think>", FORMS.Hermes!([OSLO]), "\n")), CUTS),
  ([scraps, cuts]) => {
    const text = scraps.join("");
    if (text === "") return;
    const events = (pieces: readonly string[]): GenerateEvent[] => [
      { type: "start", model: "m", inputTokens: 1 },
      { type: "part-start", index: 0, part: { type: "text", text: "" } },
      ...pieces.map((piece) => ({
        type: "part-delta" as const,
        index: 0,
        delta: { type: "text" as const, text: piece },
      })),
      { type: "part-end", index: 0 },
      { type: "finish", finish: { reason: "stop" }, usage: USAGE },
    ];
    const input: GenerateRequest = { model: "m", messages: [], stream: true, tools: TOOLS };
    const body = { choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }] };
    const target: Target = { ...TARGET, textForms: "parse" };
    const chat = DRIVER.response([{ status: 200, headers: new Headers(), body }], input, target, newContext());
    for (const pieces of [[text], cut(text, cuts)]) {
      const found = collect(readAnswer(events(pieces), "parse"));
      assertEquals([found.content, found.finish], [chat.content, chat.finish]);
    }
  },
);

Deno.test("text forms: an answer of any wire without forms comes out as it is", () => {
  const response: GenerateResponse = {
    model: "m",
    content: [
      { type: "reasoning", text: "Hm", opaque: { origin: "w", data: "x" } },
      { type: "reasoning", text: "", opaque: { origin: "w", data: "y" } },
      { type: "text", text: "One <b", annotations: [{ type: "url", url: "https://a.test" } as never] },
      { type: "opaque", extra: { wire: "w", fields: { type: "z" } } },
      { type: "text", text: "two" },
      { type: "tool-call", kind: "custom", id: "c1", name: "patch", input: "" },
      {
        type: "tool-call",
        kind: "function",
        id: "c2",
        name: "get",
        input: '{"a":1}',
        extra: { wire: "w", fields: { b: 2 } },
      },
    ],
    finish: { reason: "tool-calls" },
    usage: USAGE,
  };
  for (const mode of ["parse", "auto"] as const) {
    assertEquals(collect(readAnswer([...replay(response)], mode, "Qwen/Qwen3")), response);
  }
});

for (const stream of [false, true]) {
  Deno.test(`text forms: a Responses upstream's text is read too, stream ${stream}`, async () => {
    const text = FORMS.Hermes!([OSLO]);
    const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text }] };
    const response = { id: "resp_1", object: "response", model: "m", status: "completed", output: [item], usage: null };
    const events = [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      ...cut(text, [3]).map((delta) => ({
        type: "response.output_text.delta",
        item_id: "msg_1",
        output_index: 0,
        delta,
      })),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ];
    const config = structuredClone(PARSING);
    config.upstreams.fake.driver = "responses";
    const app = newApp({
      config,
      fetch: fakeUpstream(({ body }) =>
        JSON.parse(body).stream
          ? answerStream(events.map((event) =>
            `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
          ))
          : Response.json(response)
      ).fetch,
    });
    const answer = await ask(app, "chat", stream);
    assert(/"name":"get_weather"/.test(answer) && /"finish_reason":"tool_calls"/.test(answer), answer);
    assert(!answer.includes("tool_call>"), answer);
  });
}

/** The events of a text in every cut, where only what it begins with is read. */
function assertReadsAtStart(model: string, text: string, expected: unknown[], tools = TOOLS): void {
  const input: GenerateRequest = { model: "m", messages: [], stream: true, tools };
  for (const pieces of cuttings(text)) {
    const forms = textFormsFor(input, { ...TARGET, model, textForms: "auto" });
    assert(forms);
    const found = parsed(joined([...pieces.flatMap((piece) => forms.read(piece)), ...forms.end()]));
    assertEquals(found, expected, JSON.stringify(pieces));
  }
}

Deno.test("text forms: by default an answer that begins with a form of its model's family is read", () => {
  for (
    const [model, form] of [
      ["moonshotai/Kimi-K3", "Kimi K3"],
      ["MiniMaxAI/MiniMax-M3", "MiniMax M3"],
      ["google/gemma-4-27b-it", "Gemma 4"],
      ["Qwen/Qwen3-Coder", "Qwen coder"],
      ["deepseek-ai/DeepSeek-V4", "DeepSeek DSML with single bars"],
      ["openai/gpt-oss-120b", "harmony"],
    ] as const
  ) {
    const call = FORMS[form]!([OSLO]);
    assertReadsAtStart(model, call, [OSLO]);
    if (form !== "harmony") assertReadsAtStart(model, `I look.\n${call}`, [{ text: `I look.\n${call}` }]);
    assertReadsAtStart(model, FORMS.Cohere!([OSLO]), [{ text: FORMS.Cohere!([OSLO]) }]);
    const other = FORMS[form]!([{ name: "rm", args: { location: "Oslo" } }]);
    assertReadsAtStart(model, other, [{ text: other }]);
  }
  assertReadsAtStart("Qwen/Qwen3", `<think>\nHm</think>\n\n${FORMS.Hermes!([OSLO])}`, [{ reasoning: "Hm" }, OSLO]);
  const input: GenerateRequest = { model: "m", messages: [], stream: true, tools: TOOLS };
  assertEquals(textFormsFor(input, { ...TARGET, model: "org/model", textForms: "auto" }), undefined);
  const asked: GenerateRequest = { model: "m", messages: [], stream: true };
  assertEquals(textFormsFor(asked, { ...TARGET, model: "Qwen/Qwen3", textForms: "auto" }), undefined);
});

for (const stream of [false, true]) {
  Deno.test(`text forms: by default a client gets a call of a known family's own notation, stream ${stream}`, async () => {
    const config = structuredClone(CONFIG) as unknown as typeof PARSING;
    config.lanes.oss.models.model.targets[0]!.model = "moonshotai/Kimi-K3";
    const text = await ask(newParsing(FORMS["Kimi K3"]!([OSLO]), {}, config), "chat", stream);
    assert(/"name":"get_weather"/.test(text) && /"finish_reason":"tool_calls"/.test(text), text);
    assert(!text.includes("<|open|>"), text);
    const plain = await ask(newParsing(`Hm. ${FORMS["Kimi K3"]!([OSLO])}`, {}, config), "chat", stream);
    assert(!plain.includes("tool_calls") && plain.includes("stop"), plain);
  });
}

const HEAVY = [
  "<",
  "{",
  "[",
  "<[{",
  "`",
  " ",
  "<think>a<",
  '<tool_call>{"name": "get_weather", "arguments": {"a": "',
  "a",
];

for (const unit of HEAVY) {
  const text = unit.repeat(50_000 / unit.length);
  Deno.test(`text forms: a text of ${JSON.stringify(unit)} is read in slices of 2,048 characters, and means the same`, () => {
    const forms = newForms();
    const reading = forms.readLong(text);
    let slices = 0;
    let next = reading.next();
    for (; !next.done; next = reading.next()) slices++;
    assert(slices >= text.length / 2_048, `${slices} slices`);
    assertEquals(joined([...next.value!, ...forms.end()]), readPieces([text]));
  });

  for (const stream of [false, true]) {
    const how = stream ? "streamed in one frame" : "whole";
    Deno.test(`text forms: others have their turns beside an answer of ${JSON.stringify(unit)}, ${how}`, async () => {
      const answer = () => stream ? answerStream([word(text), ENDING]) : answerWhole(text);
      const fake = { ...CONFIG.upstreams.fake, textForms: "parse" as const };
      const app = newApp({
        config: { ...CONFIG, upstreams: { ...CONFIG.upstreams, fake } },
        fetch: fakeUpstream(answer).fetch,
      });
      const tools = [{ type: "function", function: { name: "get_weather", parameters: WEATHER } }];
      const turns = await turnsDuring(async () => {
        const response = await app.post(CHAT, chatBody({ stream, tools }));
        assertEquals(response.status, 200);
        await response.text();
      });
      assert(turns >= text.length / 2_048 / 2, `${turns} turns`);
    });
  }
}

Deno.test("text forms: an answer of thousands of calls is a text", () => {
  const call = '<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>\n';
  const few = readPieces([call.repeat(100)]);
  assertEquals(few.length, 100);
  assertEquals(readPieces([call.repeat(5_000)]), [{ type: "text", text: call.repeat(5_000) }]);
});
