import { assertEquals } from "@std/assert";
import { collect } from "../../src/canonical/collect.ts";
import type { FinishReason, GenerateEvent, GenerateResponse, ToolCallPart } from "../../src/canonical/generate.ts";
import { repairCalls } from "../../src/transforms/repair_calls.ts";
import { replay, replayAtOnce } from "../../src/canonical/replay.ts";
import { transform } from "../../src/programs/testing/stages.ts";
import { assertWellFormed } from "../../src/programs/testing/well_formed.ts";

const tools = [{
  type: "function" as const,
  name: "run",
  parameters: {
    type: "object",
    properties: { command: { type: "string" }, dry: { type: "boolean" } },
    required: ["command"],
  },
}, { type: "custom" as const, name: "patch" }];

function call(input: string, more: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: "tool-call", kind: "function", id: `call_${input.length}`, name: "run", input, ...more };
}

function responseOf(content: GenerateResponse["content"], reason: FinishReason = "tool-calls"): GenerateResponse {
  return { model: "m", content, finish: { reason }, usage: { inputTokens: 1, outputTokens: 1 } };
}

function* inPieces(response: GenerateResponse): Generator<GenerateEvent> {
  for (const event of replay(response)) {
    if (event.type !== "part-delta" || event.delta.text.length < 2) yield event;
    else {
      const { text, type } = event.delta;
      for (const piece of [text.slice(0, 2), text.slice(2)]) yield { ...event, delta: { type, text: piece } };
    }
  }
}

/** Both modes, which agree. */
function repair(response: GenerateResponse): { inputs: string[]; notes: string[] } {
  const notes: string[] = [];
  const whole = collect(transform(repairCalls({ tools }, (note) => void notes.push(note)), replayAtOnce(response)));
  const streamNotes: string[] = [];
  const events = transform(repairCalls({ tools }, (note) => void streamNotes.push(note)), inPieces(response));
  assertWellFormed(events);
  assertEquals(collect(events), whole);
  assertEquals(streamNotes, notes);
  return { inputs: whole.content.flatMap((part) => part.type === "tool-call" ? [part.input] : []), notes };
}

const REPAIRED = "repaired arguments of run";
const KEPT = "kept arguments of run that are not JSON";

const CASES: [title: string, response: GenerateResponse, inputs: string[], notes: string[]][] = [
  ["JSON stays as it is, spaces too", responseOf([call('{ "command": "ls" }')]), ['{ "command": "ls" }'], []],
  ["what can be read in one way is JSON", responseOf([call("{'command':'ls',}")]), ['{"command":"ls"}'], [REPAIRED]],
  [
    "each call for itself, and what is between them stays",
    responseOf([call("{'command':'ls'}"), { type: "text", text: "And" }, call('{"command":"pwd"}'), call("{'dry':1")]),
    ['{"command":"ls"}', '{"command":"pwd"}', "{'dry':1"],
    [REPAIRED, KEPT],
  ],
  ["a text without its end stays", responseOf([call('{"command":"rm -rf /tmp/x')]), ['{"command":"rm -rf /tmp/x'], [
    KEPT,
  ]],
  ["what does not fit the schema stays", responseOf([call("{'command':1}")]), ["{'command':1}"], [KEPT]],
  ["what lacks a name of the schema stays", responseOf([call("{'dry':True}")]), ["{'dry':True}"], [KEPT]],
  ["a tool that was not offered has no schema to fit", responseOf([call("{'a':1}", { name: "other" })]), ["{'a':1}"], [
    "kept arguments of other that are not JSON",
  ]],
  ["a brace is added where nothing else can be missing", responseOf([call('{"dry":true,"command":"ls"')]), [
    '{"dry":true,"command":"ls"}',
  ], [REPAIRED]],
  [
    "a brace is not added where a further name may be missing",
    responseOf([call('{"command":"rm -rf /tmp/x"')]),
    ['{"command":"rm -rf /tmp/x"'],
    [KEPT],
  ],
  [
    "of an answer that was cut the last call stays",
    responseOf([call("{'command':'ls'}"), call("{'command':'rm'}")], "length"),
    ['{"command":"ls"}', "{'command':'rm'}"],
    [REPAIRED, KEPT],
  ],
  ["free text stays", responseOf([call("{'a':1}", { kind: "custom", name: "patch" })]), ["{'a':1}"], []],
];

for (const [title, response, inputs, notes] of CASES) {
  Deno.test(`repair: ${title}: ${inputs[0]}`, async () => assertEquals(await repair(response), { inputs, notes }));
}
