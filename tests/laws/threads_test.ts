/** A request of a thread asks the model the same as one that holds the whole conversation. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import { after, asked, CREATE, newClient, user } from "../plugins/messages/thread_rig.ts";
import { MODES } from "../regressions/support.ts";
import type { Said } from "../sdk/responses_clients.ts";
import { lawOf } from "../support/law.ts";
import { messagesAnswer, messagesRequest } from "../support/messages_arbitraries.ts";
import { scaled } from "../reliability/scale.ts";

/** The vendor's helper sends no marks of turns that have an answer again. */
function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== "cache_control");
  return Object.fromEntries(
    entries.map((
      [name, inner],
    ) => [name, ["content", "source", "tool", "definition"].includes(name) ? unmarked(inner) : inner]),
  );
}

const text = fc.lorem({ maxCount: 3 });
const said: fc.Arbitrary<Said> = fc.record({
  thought: fc.option(text, { nil: undefined }),
  text,
  calls: fc.option(
    fc.uniqueArray(fc.constantFrom("one", "two", "three"), { minLength: 1, maxLength: 3 }).map((names) =>
      names.map((name) => ({ id: `call_${name}`, name, input: "{}" }))
    ),
    { nil: undefined },
  ),
});

/** The turns of a client, each with the answer before it. */
const conversation = fc.record({
  request: messagesRequest,
  turns: fc.array(fc.tuple(said, text), { minLength: 1, maxLength: 4 }),
  mode: fc.constantFrom(...MODES),
});

lawOf(
  scaled(150, 30),
  "threads: an upstream of the chat wire is asked the same with a thread and with the whole conversation",
  conversation,
  async ({ request, turns, mode }) => {
    // An answer to a schema is JSON, which these are not.
    const { messages, system, tools, output_format: _format, output_config: _config, ...others } = request;
    const answers = [...turns.map(([answer]) => answer), { text: "the end" }];
    // Each answer is given twice: in the thread, and to the client that sends everything.
    const client = newClient(answers.flatMap((answer) => [answer, answer]));
    const kept = { ...(system !== undefined && { system }), ...(tools !== undefined && { tools }) };
    const controls = { ...others, model: "chat", max_tokens: 100, stream: false };
    const whole = [...messages as JsonObject[]];
    let thread: JsonObject = CREATE;
    let added = messages as JsonObject[];
    for (let turn = 0; turn <= turns.length; turn++) {
      const isFirst = turn === 0;
      const next = { ...controls, ...(isFirst && kept), messages: added, thread };
      const answered = await client.ask(asked(next as JsonObject, mode), mode);
      if (isFirst && answered.status !== 200) return;
      assertEquals(answered.status, 200, JSON.stringify(answered.error));
      const before = unmarked(whole.slice(0, whole.length - added.length)) as JsonObject[];
      const replay = { ...controls, ...kept, messages: [...before, ...added] };
      assertEquals((await client.ask(asked(replay as JsonObject, mode), mode)).status, 200);
      const [own, other] = client.bodies().slice(-2);
      assertEquals(own, other);
      const calls = answered.content.filter(({ type }) => type === "tool_use");
      const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "done" }));
      added = [
        user([...results, { type: "text", text: turns[turn]?.[1] ?? "", cache_control: { type: "ephemeral" } }]),
      ];
      whole.push({ role: "assistant", content: answered.content } as JsonObject, ...added);
      thread = after(answered.id);
    }
  },
);

lawOf(
  scaled(150, 30),
  "threads: an upstream of the same wire is asked the same with a thread and with the whole conversation",
  fc.record({ request: messagesRequest, answer: messagesAnswer, next: text }),
  async ({ request, answer, next }) => {
    const client = newClient([() => Response.json(answer)]);
    const { system, tools, ...others } = { ...request, model: "messages", stream: false } as JsonObject;
    const kept = { ...(system !== undefined && { system }), ...(tools !== undefined && { tools }) };
    const first = await client.ask({ ...others, ...kept, thread: CREATE } as JsonObject);
    if (first.status !== 200 || first.stop === "refusal") return;
    const turn = user(next || "next");
    const second = await client.ask({ ...others, messages: [turn], thread: after(first.id) } as JsonObject);
    assertEquals(second.status, 200, JSON.stringify(second.error));
    const before = unmarked([...others.messages as JsonObject[], { role: "assistant", content: first.content }]);
    await client.ask({ ...others, ...kept, messages: [...before as JsonObject[], turn] } as JsonObject);
    const [own, other] = client.bodies().slice(-2);
    assertEquals(own, other);
  },
);
