/**
 * What reads clients' and upstreams' words takes time that grows with their length, and not with its square. It measures, so it
 * is not among the tests of every day: `deno task bench:growth`.
 */
import { parseResponse as parseChat } from "../../plugins/chat/parse_response.ts";
import { toChatShape } from "../../plugins/chat/responses_shaped.ts";
import { textFormsFor } from "../../plugins/shared/text_forms/answer_forms.ts";
import { serializeSrt, serializeVtt } from "../../plugins/audio/transcript.ts";
import { parseTranscript } from "../../plugins/hub/segments.ts";
import { parseResponse as parseMessages } from "../../plugins/messages/parse_response.ts";
import { parseOther } from "../../plugins/responses/parse_items.ts";
import { parseResponse as parseResponses } from "../../plugins/responses/parse_response.ts";
import type { GenerateRequest, Message } from "../../src/canonical/generate.ts";
import { isJsonText } from "../../src/canonical/json.ts";
import { allowedTools } from "../../src/transforms/offered_tools.ts";
import { readNearJson } from "../../src/transforms/near_json.ts";
import { readForm } from "../../src/transforms/schema_prompt.ts";
import { PartWriter, type ToolCallDelta } from "../../src/transforms/part_writer.ts";
import { mendItems } from "../../src/transforms/unpaired_items.ts";
import { arrangeTurns } from "../../src/transforms/turns.ts";
import { readFormBody } from "../../src/http/multipart.ts";
import { readFrames } from "../support/sources.ts";
import { bodyOf, piecesOf, toArray } from "../support/chunks.ts";
import "./growth_of_redaction.ts";
import { growsLinearly } from "./grows_linearly.ts";
import { TARGET } from "../support/wires.ts";

const repeat = (text: string) => (size: number) => text.repeat(Math.ceil(size / text.length));
const bytesOf = (text: string) => new TextEncoder().encode(text);

// Calls and reasoning in texts

const ASKED: GenerateRequest = {
  model: "m",
  stream: true,
  messages: [],
  tools: [
    { type: "function", name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  ],
};

const UNENDED: Record<string, string> = {
  "words": "It is raining in Oslo. ",
  "marks that open nothing": "<[{",
  "opened reasoning": "<think>a<",
  "calls that do not end": '<tool_call>{"name": "get_weather", "arguments": {"city": "',
  "calls in a list": '[TOOL_CALLS][{"name": "get_weather", "arguments": {}}, ',
  "calls in tags": "<function=get_weather><parameter=city>",
  "calls of Python": "[get_weather(city='",
  "channels": "<|channel|>commentary to=functions.get_weather<|message|>{",
  "headers of channels": "<|start|>assistant<|channel|>",
  "braces": "{",
  "brackets": "[",
  "backticks": "`",
  "spaces": " ",
  "lines": "\n",
  "tags": "<tool_call>\n</tool_call>\n",
  "DeepSeek's marks": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{",
  "Kimi's marks": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{",
};

for (const [name, text] of Object.entries(UNENDED)) {
  for (
    const [how, before] of [["", ""], [", after one that opens a call", UNENDED["calls that do not end"]!]] as const
  ) {
    for (const piece of [5, Infinity]) {
      growsLinearly(
        `a text of ${name}${how}, ${piece === 5 ? "in pieces" : "at once"}`,
        (size) => before + repeat(text)(size),
        (whole) => {
          const forms = textFormsFor(ASKED, { ...TARGET, textForms: "parse" })!;
          for (let at = 0; at < whole.length; at += piece) forms.read(whole.slice(at, at + piece));
          forms.end();
        },
      );
    }
  }
}

// Transcripts

const segments = (size: number) =>
  Array.from({ length: Math.ceil(size / 10) }, (_, at) => ({ start: at, end: at + 1, text: ` word${at % 7}` }));
growsLinearly("subtitles of many segments", segments, (list) => [serializeSrt(list), serializeVtt(list)]);
for (const [name, text] of Object.entries({ dashes: "-", arrows: "-->", lines: "\n", spaces: " ", marks: "<&" })) {
  const one = (size: number) => [{ start: 0, end: 1, text: `a${repeat(text)(size)}b` }];
  growsLinearly(`subtitles of one text of ${name}`, one, (list) => [serializeSrt(list), serializeVtt(list)]);
}
const WANTED = { model: "m", format: "verbose_json", timestamps: ["word", "segment"] };
for (const [name, text] of Object.entries({ words: " word", spaces: "   ", dots: "...", quotes: '.""' })) {
  const chunks = (size: number) => ({
    text: repeat(text)(size),
    chunks: Array.from({ length: Math.ceil(size / 5) }, (_, at) => ({ text, timestamp: [at, null] })),
  });
  growsLinearly(`a transcript in pieces of ${name}`, chunks, (output) => parseTranscript(output, WANTED as never));
  const one = (size: number) => ({ text: "", chunks: [{ text: repeat(text)(size), timestamp: [0, 1] }] });
  growsLinearly(`a transcript in one piece of ${name}`, one, (output) => parseTranscript(output, WANTED as never));
}

// Forms of uploads

const BOUNDARY = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
for (
  const [name, text] of Object.entries({ "line breaks": "\r\n", boundaries: `\r\n--${BOUNDARY.slice(1)}`, dashes: "-" })
) {
  const form = (size: number) =>
    bytesOf(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${
        repeat(text)(size)
      }\r\n--${BOUNDARY}--\r\n`,
    );
  growsLinearly(`a form whose file is ${name}`, form, (body) =>
    readFormBody(
      new Request("http://gateway.test", {
        method: "POST",
        body,
        headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
      }),
      { limitBytes: 1e9, timeoutMs: 60_000 },
    ));
}

// Streams

for (
  const [name, before, text, after] of [
    ["one long line", "data: ", "word ", "\n\n"],
    ["one event of many lines", "", "data: word\n", "\n"],
    ["many events", "", "data: word\n\n", ""],
    ["comments", "", ": word\n", "\n"],
    ["line ends", "", "\r\n", ""],
  ] as const
) {
  const stream = (size: number) => bytesOf(before + repeat(text)(size) + after);
  growsLinearly(
    `a stream of ${name}, in pieces`,
    stream,
    (bytes) => toArray(readFrames(bodyOf(piecesOf(bytes, 1024)))),
  );
}

// JSON that is nearly some, or has something around it

for (
  const text of [
    "{",
    "[",
    '"',
    "'",
    "`",
    "\n",
    " \n",
    "```\n",
    "\\",
    "{'a': ",
    "{'a': 'b', ",
    "{} ",
    '{"a": ',
    "[1, ",
    "a: ",
  ]
) {
  for (const before of ["", "```json\n", "{", '{"a": "']) {
    const said = JSON.stringify(before + text);
    growsLinearly(`nearly JSON: ${said} and so on`, (size) => `${before}${repeat(text)(size)}x`, readNearJson);
    growsLinearly(`an answer in JSON: ${said} and so on`, (size) => `${before}${repeat(text)(size)}x`, (answer) => {
      readForm(answer, { schema: { type: "object" } });
      readForm(answer, {});
      isJsonText(answer);
    });
  }
}

// Calls that come in pieces

interface Entry {
  call?: [string, ToolCallDelta];
  text?: string;
}

function write(entries: readonly Entry[], tools: GenerateRequest["tools"] = []): void {
  const writer = new PartWriter({ messages: [], tools });
  for (const { call, text } of entries) {
    if (call) writer.toolCall(...call);
    else writer.text(text!);
  }
  writer.finish({ reason: "stop" }, { inputTokens: 1, outputTokens: 1 });
}

const pieces = (piece: string, more: (at: number) => Entry[] = () => []) => (size: number): Entry[] => [
  { call: ["a", { id: "call_a", name: "a", input: '{"input": "' }] },
  ...Array.from({ length: Math.ceil(size / piece.length) }, (_, at): Entry[] => [
    { call: ["a", { input: piece }] },
    ...more(at),
  ]).flat(),
  { call: ["a", { input: '"}' }] },
];
for (const piece of ["word ", "}", "] ", "12"]) {
  const said = JSON.stringify(piece);
  const text = () => [{ text: "a" }];
  growsLinearly(`a call in pieces of ${said}`, pieces(piece), write, 5_000);
  growsLinearly(`a call in pieces of ${said}, with text between them`, pieces(piece, text), write, 5_000);
  growsLinearly(
    `a custom tool's call in pieces of ${said}`,
    pieces(piece),
    (entries) => write(entries, [{ type: "custom", name: "a" }]),
    5_000,
  );
}
growsLinearly(
  "a call in pieces, with pieces of another call between them",
  pieces("word ", () => [{ call: ["b", { id: "call_b", name: "b", input: "more " }] }]),
  write,
  5_000,
);
growsLinearly(
  "very many calls that wait, then texts",
  (size): Entry[] => [
    { call: ["first", { input: "{}" }] },
    ...Array.from({ length: size }, (_, at): Entry => ({ call: [String(at), { name: "a", input: "{}" }] })),
    { call: ["last", { name: "a", input: "{" }] },
    ...Array.from({ length: size }, (): Entry => ({ text: "a" })),
    { call: ["first", { name: "a" }] },
  ],
  write,
  5_000,
);
growsLinearly(
  "very many calls that end together",
  (size) => Array.from({ length: size }, (_, at): Entry => ({ call: [String(at), { name: "a", input: "{" }] })),
  write,
  40_000,
);
/** All so far with every piece: as many of them whatever the size, because all of them together are what is read. */
const snapshots = (size: number): Entry[] => {
  const whole = `{"input": "${"word ".repeat(size / 5)}"}`;
  const step = Math.ceil(whole.length / 50);
  return Array.from({ length: 50 }, (_, at) => ({
    call: ["a", { id: "call_a", name: "a", input: whole.slice(0, (at + 1) * step) }],
  }));
};
growsLinearly("a call of which all so far comes with every piece", snapshots, write);

// Conversations of many calls

const many = <T>(size: number, make: (at: number) => T) => Array.from({ length: size }, (_, at) => make(at));
const quiet = () => {};
/** Calls, and then their results: those in a turn each, or all in one. */
const calling = (idOf: (at: number) => string, isOneTurn: boolean) => (size: number): Message[] => {
  const calls = many(
    size,
    (at) => ({ type: "tool-call", kind: "function", id: idOf(at), name: "f", input: "{}" } as const),
  );
  const results = many(size, (at) => ({ type: "tool-result", id: idOf(at), content: [] } as const));
  return isOneTurn
    ? [{ role: "assistant", content: calls }, {
      role: "tool",
      content: results.map((one) => ({ ...one, content: [] })),
    }]
    : [
      ...calls.map((call): Message => ({ role: "assistant", content: [call] })),
      ...results.map((result): Message => ({ role: "tool", content: [{ ...result, content: [] }] })),
    ];
};
for (const [name, idOf] of [["each its id", (at: number) => `call_${at}`], ["one id", () => "call"]] as const) {
  for (const isOneTurn of [false, true]) {
    const how = isOneTurn ? "in one turn" : "in a turn each";
    growsLinearly(
      `calls of ${name}, ${how}, for another wire`,
      calling(idOf, isOneTurn),
      (messages) => arrangeTurns(messages, { wire: "chat", systemMessages: "first" }, quiet),
      2_000,
    );
    growsLinearly(
      `calls of ${name}, ${how}, as items`,
      calling(idOf, isOneTurn),
      (messages) => mendItems(messages, () => false, quiet),
      2_000,
    );
  }
}
growsLinearly(
  "tools of which many are allowed",
  (size) => many(size / 10, (at) => `tool_${at}`),
  (names) => allowedTools(names.map((name) => ({ type: "function", name })), { type: "allowed", mode: "auto", names }),
);
for (const [name, text] of Object.entries({ "nearly bytes": `${"a".repeat(499)} `, "data": "data:", "letters": "a" })) {
  growsLinearly(`an item in words: ${name}`, repeat(text), (content) => parseOther({ type: "x", content }));
}

// Answers of many calls

const HEARING = { clientWire: "messages", note: quiet, inputTokens: 1 };
const WANTING: GenerateRequest = { model: "m", messages: [], stream: false };
for (const [name, input] of Object.entries({ "whole": "{}", "cut off": '{"a": "' })) {
  const called = (at: number) => ({ name: "f", arguments: input, id: `call_${at}` });
  growsLinearly(
    `an answer of many calls, ${name}: chat`,
    (size) => ({
      choices: [{
        message: {
          tool_calls: many(size, called).map(({ id, ...call }) => ({ id, type: "function", function: call })),
        },
        finish_reason: "tool_calls",
      }],
    }),
    (body) => parseChat(body, WANTING, TARGET, HEARING),
    2_000,
  );
  growsLinearly(
    `an answer of many calls, ${name}: responses`,
    (size) => ({
      status: "completed",
      output: many(size, called).map(({ id, ...call }) => ({ type: "function_call", call_id: id, ...call })),
    }),
    (body) => parseResponses(body, WANTING, TARGET, HEARING),
    2_000,
  );
}
growsLinearly(
  "an answer of many items without names",
  (size) => ({
    status: "completed",
    output: many(size, () => ({ type: "message", content: [{ type: "output_text", text: "a" }] })),
  }),
  (body) => parseResponses(body, WANTING, TARGET, HEARING),
  2_000,
);
growsLinearly(
  "an answer of many blocks",
  (size) => ({
    stop_reason: "tool_use",
    content: many(size, (at) => ({ type: "tool_use", id: `call_${at}`, name: "f", input: {} })),
  }),
  (body) => parseMessages(body, WANTING, HEARING),
  2_000,
);

// Requests of many items

growsLinearly(
  "a turn of many items, in the shape of another wire",
  (size) => ({
    input: many(size, (at) => ({ type: "function_call", call_id: `call_${at}`, name: "f", arguments: "{}" })),
  }),
  (body) => toChatShape(body, quiet),
  20_000,
);
