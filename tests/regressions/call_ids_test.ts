import { assert, assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { CONFIG, listOf, type RequestRow, testRequests, type Wire } from "./support.ts";

const LONG = `call_${"0123456789".repeat(8)}`;
/** The last two differ where a cut would lose it. */
const ODD = ["functions.look:0", "chatcmpl-tool-0123456789abcdef0123456789abcdef", `${LONG}1`, `${LONG}2`];

/** A conversation in which two turns call, with these ids. */
function bodies([one, two]: readonly [string, string]): Record<Wire, JsonObject> {
  const user = { role: "user", content: "Look" };
  return {
    chat: {
      messages: [
        user,
        ...[one, two].flatMap((id) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: id, content: "here" },
        ]),
      ],
    },
    messages: {
      messages: [
        user,
        ...[one, two].flatMap((id) => [
          { role: "assistant", content: [{ type: "tool_use", id, name: "look", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "here" }] },
        ]),
      ],
    },
    responses: {
      input: [
        user,
        ...[one, two].flatMap((id) => [
          { type: "function_call", call_id: id, name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: id, output: "here" },
        ]),
      ],
    },
  };
}

/** The ids of calls, and those of results, as the upstream gets them. */
const SENT: Record<Wire, (asked: JsonObject) => [calls: JsonValue[], results: JsonValue[]]> = {
  chat({ messages }) {
    const turns = listOf(messages);
    const calls = turns.flatMap(({ tool_calls }) => listOf(tool_calls)).map(({ id }) => id!);
    return [calls, turns.filter(({ role }) => role === "tool").map(({ tool_call_id }) => tool_call_id!)];
  },
  messages({ messages }) {
    const blocks = listOf(messages).flatMap(({ content }) => Array.isArray(content) ? listOf(content) : []);
    const calls = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id!);
    return [calls, blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id!)];
  },
  responses({ input }) {
    const idsOf = (wanted: string) =>
      listOf(input).filter(({ type }) => type === wanted).map(({ call_id }) => call_id!);
    return [idsOf("function_call"), idsOf("function_call_output")];
  },
};

/** Each wire's servers, with the ids that they take. */
const TAKEN: { upstream: Wire; model: string; taken: RegExp; kept: string[] }[] = [
  { upstream: "chat", model: "org/model", taken: /^.{1,64}$/, kept: ODD.slice(0, 2) },
  { upstream: "chat", model: "openai/gpt-5.4", taken: /^.{1,40}$/, kept: ODD.slice(0, 1) },
  { upstream: "chat", model: "mistralai/Mistral-Small-4-119B-2603", taken: /^[a-zA-Z0-9]{9}$/, kept: [] },
  { upstream: "messages", model: "org/model", taken: /^[\w-]{1,64}$/, kept: ODD.slice(1, 2) },
  { upstream: "responses", model: "org/model", taken: /^.{1,64}$/, kept: ODD.slice(0, 2) },
];

for (const { upstream, model, taken, kept } of TAKEN) {
  const target = { task: "chat" as const, targets: [{ upstream, model }] };
  const config = { ...CONFIG, lanes: { oss: { models: { ...CONFIG.lanes.oss.models, [upstream]: target } } } };
  /** What the first request made of each id: the next ones must make the same of it. */
  const known = new Map<string, JsonValue>();
  for (const pair of [[ODD[0]!, ODD[1]!], [ODD[2]!, ODD[3]!], [ODD[1]!, ODD[2]!]] as const) {
    testRequests([
      {
        id: "R40",
        title: `ids of calls are such as ${model} takes over ${upstream}, in pairs: ${pair.map((id) => id.slice(-12))}`,
        upstream,
        config,
        bodies: bodies(pair),
        check(asked, { headers }) {
          const [calls, results] = SENT[upstream](asked);
          assertEquals(results, calls);
          assertEquals(new Set(calls).size, 2);
          for (const [at, id] of calls.entries()) {
            const own = pair[at]!;
            assert(taken.test(String(id)), String(id));
            assertEquals(id === own, kept.includes(own), `${own} as ${id}`);
            assertEquals(id, known.get(own) ?? id);
            known.set(own, id);
          }
          assertEquals(headers.get("x-laneway-notes"), null);
        },
      } satisfies RequestRow,
    ]);
  }
}

testRequests([{
  id: "R40",
  title: "an id in which a server keeps what was thought goes back to it whole",
  bodies: bodies([`call_1__thought__${"A".repeat(300)}`, "call_2"]),
  check(asked) {
    assertEquals(SENT.chat(asked)[0], [`call_1__thought__${"A".repeat(300)}`, "call_2"]);
  },
}]);
