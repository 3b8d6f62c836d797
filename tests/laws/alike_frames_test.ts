/** A frame that is like the last two but for its text is read without its JSON: nothing may come of it but what comes of that. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseStream as readChat } from "../../plugins/chat/parse_stream.ts";
import { parseStream as readMessages } from "../../plugins/messages/parse_stream.ts";
import { parseStream as readResponses } from "../../plugins/responses/parse_stream.ts";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { AlikeFrames } from "../../src/transforms/alike_frames.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { newContext } from "../support/context.ts";
import { answerBytes, isStream, loadFixtures } from "../support/fixtures.ts";
import { law } from "../support/law.ts";
import { bodyOf, toArray } from "../support/chunks.ts";
import { readFrames } from "../support/sources.ts";
import { TARGET } from "../support/wires.ts";

const READERS = { chat: readChat, messages: readMessages, responses: readResponses };
type Wire = keyof typeof READERS;
const WIRES = Object.keys(READERS) as Wire[];

interface Read {
  events: GenerateEvent[];
  notes: string[];
  thrown?: string;
  /** How many frames were read without their JSON. */
  short: number;
}

/** What a stream says, to a client of the same wire or another, from a target whose texts are looked into or not. */
function read(wire: Wire, frames: readonly Frame[], isShort: boolean, clientWire: string, textForms?: "parse"): Read {
  const { textIn } = AlikeFrames.prototype;
  let short = 0;
  AlikeFrames.prototype.textIn = function (json) {
    const text = isShort ? textIn.call(this, json) : undefined;
    if (text !== undefined) short++;
    return text;
  };
  const context = newContext(clientWire);
  const events: GenerateEvent[] = [];
  let thrown: string | undefined;
  try {
    const reader = READERS[wire]({ model: "m", messages: [], stream: true }, { ...TARGET, textForms }, context);
    for (const frame of frames) {
      if (reader.done) break;
      const work = reader.read(frame, (event) => events.push(event));
      if (work) runUnsliced(work);
    }
    if (!reader.done) reader.end((event) => events.push(event));
  } catch (error) {
    thrown = String(error);
  } finally {
    AlikeFrames.prototype.textIn = textIn;
  }
  return { events, notes: context.notes, short, ...(thrown !== undefined && { thrown }) };
}

/** How many frames were read the short way, of all ways to read the stream. */
function assertSame(wire: Wire, frames: readonly Frame[], what?: string): number {
  let sum = 0;
  for (const clientWire of ["chat", "messages"]) {
    for (const textForms of [undefined, "parse"] as const) {
      const { short, ...found } = read(wire, frames, true, clientWire, textForms);
      const { short: _, ...expected } = read(wire, frames, false, clientWire, textForms);
      assertEquals(found, expected, what);
      sum += short;
    }
  }
  return sum;
}

for (const wire of WIRES) {
  Deno.test(`${wire}: the frames of every stream say the same, read the short way or the long one`, async () => {
    let short = 0;
    for (const fixture of loadFixtures(wire).filter(isStream)) {
      const frames = await toArray(readFrames(bodyOf([answerBytes(fixture)])));
      // Each frame four times over, too: many streams are short.
      short += assertSame(wire, frames, fixture.name);
      short += assertSame(wire, frames.flatMap((frame) => Array<Frame>(4).fill(frame)), fixture.name);
    }
    assert(short > 1_000, `only ${short} frames were read the short way`);
  });
}

/** Texts that resemble what stands around them, or are spelled in several ways. */
const text = fc.constantFrom(
  "a",
  "b",
  "",
  "content",
  "assistant",
  '"',
  "\\",
  "\n",
  "é",
  "<think>",
  "</think>",
  "1",
  "{}",
  "id",
);
const spelled = text.map((plain) => JSON.stringify(plain));
const escaped = fc.oneof(
  { weight: 5, arbitrary: spelled },
  spelled.map((json) =>
    json.replace(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
  ),
  spelled.map((json) => json.replace("a", "\\u0061")),
);

/** Chunks as text, with `@` where the text is that each of them has anew. */
const SHAPES: Record<Wire, string[]> = {
  chat: [
    '{"id":"1","choices":[{"index":0,"delta":{"content":@}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":@},"finish_reason":null}]}',
    '{"id":"2","choices":[{"index":0,"delta":{"content":@}}]}',
    '{"id":@,"choices":[{"index":0,"delta":{"content":"a"}}]}',
    '{"id":"1","choices":[{"index":1,"delta":{"content":@}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"content":"","reasoning_content":@}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"content":@,"reasoning":"b"}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"content":@,"own":"c"}}],"a":1}',
    '{"id":"1","choices":[{"index":0,"delta":{"content":"c","content":@}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":@}}]}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":@}}]}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":@}}}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"content":@},"finish_reason":"stop"}]}',
    '{"id":"1","choices":[{"index":0,"delta":{"content":@}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
    '{"choices":[{"delta":{"content":@},"logprobs":{"content":[{"token":@}]}}]}',
    '{"choices":[],"error":@}',
  ],
  messages: [
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":@}}',
    '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":@}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":@}}',
    '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":@}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":@}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":@,"text":"a"}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":@}}',
    '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":@,"input":{}}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_start","message":{"model":@}}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}',
    '{"type":"ping","a":@}',
  ],
  responses: [
    '{"type":"response.output_text.delta","sequence_number":#,"item_id":"i","output_index":0,"content_index":0,"delta":@}',
    '{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":@,"sequence_number": #}',
    '{"type":"response.output_text.delta","item_id":@,"output_index":0,"content_index":0,"delta":"a","sequence_number":#}',
    '{"type":"response.output_text.delta","sequence_number":#,"item_id":"i","output_index":#,"delta":@}',
    '{"type":"response.reasoning_text.delta","sequence_number":#,"item_id":"r","output_index":1,"delta":@}',
    '{"type":"response.reasoning_summary_text.delta","sequence_number":#,"item_id":"r","summary_index":#,"delta":@}',
    '{"type":"response.function_call_arguments.delta","sequence_number":#,"item_id":"c","output_index":2,"delta":@}',
    '{"type":"response.refusal.delta","sequence_number":%,"item_id":"i","output_index":0,"delta":@}',
    '{"type":"response.output_item.added","sequence_number":#,"output_index":2,"item":{"type":"function_call","id":"c","call_id":@,"name":"f"}}',
    '{"type":"response.output_item.done","sequence_number":#,"output_index":0,"item":{"type":"message","id":"i","content":[{"type":"output_text","text":@}]}}',
    '{"type":"response.content_part.added","sequence_number":#,"item_id":"i","output_index":0}',
    '{"sequence_number":#,"item_id":"i","output_index":0,"delta":@}',
    '{"type":"response.output_text.delta",~,"item_id":"i","output_index":0,"delta":@}',
    '{"type":"response.output_text.delta","item_id":"i","output_index":0,"delta":@,~}',
    '{"type":"response.own.delta","sequence_number":#,"delta":@}',
    '{"type":"error","sequence_number":#,"message":@}',
  ],
};

Deno.test("responses: events whose numbers count up are read the short way from the third one on", () => {
  const [shape] = SHAPES.responses;
  const frames = framesOf([[shape!, Array.from({ length: 50 }, (_, at) => `"word ${at}"`)]]);
  assertEquals(read("responses", frames, true, "chat").short, 48);
});

/** Of frames whose data do not say what they are. */
const NAMES = ["response.output_text.delta", "response.reasoning_text.delta", undefined];

/**
 * A frame for each text. `#` is a number of its own, `%` one that once is no number in JSON, and `~` a field with a number that
 * once is missing.
 */
function framesOf(runs: readonly [shape: string, texts: string[]][]): Frame[] {
  const all = runs.flatMap(([shape, texts]) => texts.map((one) => shape.replaceAll("@", () => one)));
  return all.map((data, at) => {
    const isOdd = at === 7;
    const numbered = data.replaceAll("~", isOdd ? "" : '"sequence_number":#').replaceAll("%", isOdd ? "07" : "#");
    return { data: numbered.replaceAll("#", String(at)), event: NAMES[at % NAMES.length] };
  });
}

for (const wire of WIRES) {
  const shape = fc.constantFrom(...SHAPES[wire]);
  const run = fc.tuple(shape, fc.array(escaped, { minLength: 1, maxLength: 6 }));
  const frames = fc.array(run, { maxLength: 6 }).map(framesOf);
  law(`${wire}: frames that are alike say what they say one by one`, frames, (all) => void assertSame(wire, all));

  // Long enough that no more is learned.
  const inTurns = fc.tuple(shape, shape).chain((both) =>
    fc.array(fc.tuple(fc.constantFrom(...both), fc.tuple(escaped)), { minLength: 20, maxLength: 50 })
  ).map(framesOf);
  law(
    `${wire}: frames of two kinds in turns say what they say one by one`,
    inTurns,
    (all) => void assertSame(wire, all),
  );
}
