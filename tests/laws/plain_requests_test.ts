import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { asList, asObject, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { loadFixtures, wireRequest } from "../support/fixtures.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import type { Wire } from "../support/wires.ts";

/**
 * A request of plain fields is parsed without the steps that only other fields need. One field that nobody knows makes it such
 * another request: it must mean the same, apart from that field, and give the same notes.
 */

const MARK = "x_mark";

/** The request and the notes, or the error. */
function outcome(wire: Wire, body: JsonObject, headers: Headers): JsonObject {
  const context = newContext(wire.name);
  try {
    const request = wire.parseRequest(newWireRequest(structuredClone(body), headers), context);
    return { request: request as unknown as JsonObject, notes: context.notes };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { error: `${error.code} ${error.message}`, notes: context.notes };
  }
}

/** The outcome without the mark, wherever what nobody knows is kept. */
function withoutMark({ request, ...rest }: JsonObject): JsonObject {
  if (!isJsonObject(request)) return rest;
  delete asObject(asObject(request.recall).keep)[MARK];
  delete asObject(asObject(request.relay).body)[MARK];
  dropMark(request);
  dropMark(asObject(request.compaction));
  return { ...rest, request };
}

function dropMark(owner: JsonObject): void {
  const { fields, hints } = asObject(owner.extra);
  delete asObject(fields)[MARK];
  if (Object.keys({ ...asObject(fields), ...asObject(hints) }).length === 0) delete owner.extra;
}

function check(wire: Wire, body: JsonObject, headers = new Headers()): void {
  const marked = withoutMark(outcome(wire, { ...body, [MARK]: 1 }, headers));
  assertEquals(JSON.stringify(withoutMark(outcome(wire, body, headers))), JSON.stringify(marked));
}

/** Fields that stand for another, that count for nothing, or that say nothing. */
const ODD_TURNS: JsonObject[] = [
  {},
  { type: "function" },
  { type: "message" },
  { type: null },
  { reasoning: "", reasoning_content: "x" },
  { reasoning: "y", reasoning_content: "x" },
  { reasoning: null },
  { content: "" },
  { tool_calls: null },
  { tool_calls: [] },
  { function_call: null },
  { name: "n" },
];
const ODD_FIELDS: JsonObject[] = [
  {},
  { max_tokens: 5, max_completion_tokens: 6 },
  { max_tokens: 5, max_completion_tokens: 5 },
  { n_predict: 5 },
  { n_predict: null },
  { input: null },
  { stream_options: null },
  { stream_options: { include_usage: true } },
  { stream_options: { include_usage: true, more: 1 } },
  { tool_choice: null, tools: null },
  { n: 1, logprobs: null },
  { stop: "", seed: 7 },
  { stop: null, stop_sequences: [] },
  { system: "" },
  { system: [] },
  { instructions: "" },
  { instructions: "Be short", store: false },
  { store: null },
  { previous_response_id: null, conversation: null },
  { output_config: {} },
  {
    output_format: { type: "json_schema", schema: {} },
    output_config: { format: { type: "json_schema", schema: {} } },
  },
  { reasoning: {}, text: {} },
  { truncation: "auto" },
  { input: "" },
];

const TURNS = ["system", "user", "assistant", "user"].map((role): JsonObject => ({ role, content: "some text" }));
const BODIES: JsonObject[] = [
  { model: "m", messages: TURNS },
  { model: "m", input: "some text" },
  { model: "m", input: TURNS.map((turn) => ({ type: "message", ...turn })) },
];

/** Most fields of a request left away, so that many of them are plain. */
function thinned(body: JsonObject): fc.Arbitrary<JsonObject> {
  const needed = ["model", "messages", "input", "max_tokens"];
  return fc.record({
    kept: fc.subarray(Object.keys(body), { maxLength: 2 }),
    more: fc.constantFrom(...ODD_FIELDS),
    turn: fc.constantFrom(...ODD_TURNS),
    text: fc.boolean(),
  }).map(({ kept, more, turn, text }) => {
    const fields = Object.entries(body).filter(([key]) => kept.includes(key) || needed.includes(key));
    const plain: JsonObject = { ...Object.fromEntries(fields), ...more };
    if (Array.isArray(plain.messages)) {
      plain.messages = asList(plain.messages).map((message) => ({
        ...asObject(message),
        ...(text && { content: "some text" }),
        ...turn,
      }));
    } else if (text && Array.isArray(plain.input)) plain.input = "some text";
    return plain;
  });
}

for (const { wire, request } of LAW_INPUTS) {
  law(
    `${wire.name}: a plain request means the same beside a field that nobody knows`,
    request.chain(thinned),
    (body) => {
      check(wire, body);
    },
  );

  Deno.test(`${wire.name}: a request with odd fields means the same beside a field that nobody knows`, () => {
    for (const body of BODIES) {
      for (const more of ODD_FIELDS) {
        for (const turn of ODD_TURNS) {
          const messages = body.messages && TURNS.map((one) => ({ ...one, ...turn }));
          check(wire, { ...body, ...(messages && { messages }), ...more });
        }
      }
    }
  });

  Deno.test(`${wire.name}: the recorded requests mean the same beside a field that nobody knows`, () => {
    for (const fixture of loadFixtures(wire.name)) {
      const { body, headers } = wireRequest(fixture);
      if (isJsonObject(body)) check(wire, body, headers);
    }
  });
}
