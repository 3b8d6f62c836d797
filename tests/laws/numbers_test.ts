/** Any JSON number keeps its value, wherever it is carried: on each pair of wires, in requests and in answers of both modes. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { CONFIG, HEADERS, type Mode, MODES, PATH, streamed, type Wire, WIRES } from "../regressions/support.ts";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

/** What JSON allows as a number, as somebody may write it. */
const number = fc.oneof(
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 4n, max: 2n ** 53n + 9n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.tuple(fc.stringMatching(/^-?(0|[1-9]\d{0,20})$/), fc.stringMatching(/^\d{1,30}$/)).map((parts) => parts.join(".")),
  fc.tuple(fc.stringMatching(/^-?\d(\.\d{1,20})?$/), fc.constantFrom("e", "E"), fc.integer({ min: -400, max: 400 }))
    .map((parts) => parts.join("")),
  fc.constantFrom("9007199254740993", "18446744073709551615", "1e400", "-1e-400", "4.9e-324", "0.10000000000000001"),
  fc.constantFrom("1.0", "-0", "1E5", "100", "0.30000000000000004"),
);

/** Every place has a number of its own, under a name of its own. */
const PLACES = ["extra", "part", "metadata", "schema", "form", "input", "answer", "answered"] as const;
type Place = typeof PLACES[number];
type Numbers = Record<Place, string>;
const numbers: fc.Arbitrary<Numbers> = fc.record(
  Object.fromEntries(PLACES.map((place) => [place, number])) as Record<Place, typeof number>,
);

const at = (place: Place) => ({ [`n_${place}`]: `@${place}@` });
const textAt = (place: Place) => JSON.stringify(at(place));

/** The value as JSON with the numbers in their places, in texts that hold JSON too. */
function write(value: unknown, values: Numbers): string {
  return JSON.stringify(value).replace(/\\*"@(\w+)@\\*"/g, (_, place: Place) => values[place]);
}

const SCHEMA = { type: "object", properties: { id: { type: "integer", ...at("schema") } } };
const FORM = { type: "object", properties: { id: { type: "integer", ...at("form") } } };

const REQUESTS: Record<Wire, object> = {
  chat: {
    messages: [
      { role: "user", content: [{ type: "text", text: "Hello", x_part: at("part") }] },
      {
        role: "assistant",
        tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: textAt("input") } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "found" },
    ],
    tools: [{ type: "function", function: { name: "look", parameters: SCHEMA } }],
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: FORM } },
    metadata: at("metadata"),
    x_extra: at("extra"),
  },
  messages: {
    max_tokens: 1000,
    messages: [
      { role: "user", content: [{ type: "text", text: "Hello", x_part: at("part") }] },
      { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "look", input: at("input") }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "found" }] },
    ],
    tools: [{ name: "look", input_schema: SCHEMA }],
    output_config: { format: { type: "json_schema", schema: FORM } },
    metadata: at("metadata"),
    x_extra: at("extra"),
  },
  responses: {
    input: [
      { role: "user", content: [{ type: "input_text", text: "Hello", x_part: at("part") }] },
      { type: "function_call", call_id: "call_1", name: "look", arguments: textAt("input") },
      { type: "function_call_output", call_id: "call_1", output: "found" },
    ],
    tools: [{ type: "function", name: "look", parameters: SCHEMA }],
    text: { format: { type: "json_schema", name: "answer", schema: FORM } },
    metadata: at("metadata"),
    x_extra: at("extra"),
    store: false,
  },
};

const CALL = { id: "call_2", type: "function", function: { name: "look", arguments: textAt("answered") } };
const USE = { type: "tool_use", id: "call_2", name: "look", input: at("answered") };
const ITEM = { type: "function_call", id: "fc_1", call_id: "call_2", name: "look", arguments: textAt("answered") };
const USAGE = { input_tokens: 5, output_tokens: 2 };
const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "org/model", content: [], usage: USAGE };
const RESPONSE = { id: "resp_1", object: "response", model: "org/model", x_extra: at("answer") };

const WHOLE: Record<Wire, object> = {
  chat: {
    model: "org/model",
    choices: [{ index: 0, message: { role: "assistant", tool_calls: [CALL] }, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
    x_extra: at("answer"),
  },
  messages: { ...MESSAGE, content: [USE], stop_reason: "tool_use", x_extra: at("answer") },
  responses: { ...RESPONSE, status: "completed", output: [ITEM], usage: { ...USAGE, total_tokens: 7 } },
};

const FRAMES: Record<Wire, object[]> = {
  chat: [
    { model: "org/model", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...CALL }] } }] },
    { model: "org/model", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }], x_extra: at("answer") },
  ],
  messages: [
    { type: "message_start", message: MESSAGE },
    { type: "content_block_start", index: 0, content_block: USE },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "tool_use", x_extra: at("answer") }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ],
  responses: [
    { type: "response.created", response: { ...RESPONSE, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...ITEM, arguments: "" } },
    { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 0, delta: ITEM.arguments },
    { type: "response.output_item.done", output_index: 0, item: ITEM },
    { type: "response.completed", response: WHOLE.responses },
  ],
};

function answerOf(wire: Wire, mode: Mode, values: Numbers): Response {
  if (mode === "whole") {
    return new Response(write(WHOLE[wire], values), { headers: { "content-type": "application/json" } });
  }
  const frames = FRAMES[wire].map((frame) => `data: ${write(frame, values)}\n\n`);
  return streamed(frames.join("") + (wire === "chat" ? "data: [DONE]\n\n" : ""));
}

/** The number that stands under the name of a place, in whatever depth of quotes. */
function found(text: string, place: Place): string | undefined {
  return new RegExp(String.raw`n_${place}\\*":\s*(-?[\d.eE+-]+)`).exec(text)?.[1];
}

/** A number's value: its digits without zeros at either end, and its exponent. */
function valueOf(text: string): string {
  const [, sign, whole = "", fraction = "", exponent = "0"] = /^(-?)(\d+)\.?(\d*)(?:[eE](.+))?$/.exec(text)!;
  const digits = BigInt(whole + fraction).toString();
  const kept = digits.replace(/0+$/, "");
  if (kept === "") return "0";
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

function assertKept(text: string, places: readonly Place[], values: Numbers): void {
  for (const place of places) {
    const number = found(text, place);
    assertEquals(
      number && valueOf(number),
      valueOf(values[place]),
      `${place}: ${values[place]} became ${number} in ${text}`,
    );
  }
}

/** What goes to every wire, and what only to the client's own. */
const SENT: readonly Place[] = ["schema", "form", "input"];
const SENT_ON: Record<Wire, readonly Place[]> = {
  chat: ["extra", "part", "metadata"],
  // Whose request it is, is not for upstreams.
  messages: ["extra", "part"],
  responses: ["extra", "part", "metadata"],
};

for (const client of WIRES) {
  let answer: () => Response;
  const fake = fakeUpstream(() => answer());
  const app = newApp({ config: CONFIG, fetch: fake.fetch });
  law(
    `${client} to every wire: numbers keep their values`,
    fc.tuple(numbers, fc.constantFrom(...WIRES), fc.constantFrom(...MODES)),
    async ([values, upstream, mode]) => {
      answer = () => answerOf(upstream, mode, values);
      fake.asked.length = 0;
      const body = write({ model: upstream, stream: mode === "streamed", ...REQUESTS[client] }, values);
      const explained = await app.post(PATH[client], body, { ...HEADERS[client], "x-laneway-explain": "true" });
      const response = await app.post(PATH[client], body, HEADERS[client]);
      const text = await response.text();
      assertEquals([response.status, fake.asked.length], [200, 1], text);
      const places = client === upstream ? [...SENT, ...SENT_ON[client]] : SENT;
      assertKept(fake.asked[0]!.body, places, values);
      assertKept(await explained.text(), places, values);
      assertKept(text, client === upstream ? ["answer", "answered"] : ["answered"], values);
    },
  );
}
