import { assertEquals } from "@std/assert";
import type { GenerateEvent, GenerateResponse, Message, OutputPart } from "../../src/canonical/generate.ts";
import { collect } from "../../src/canonical/collect.ts";
import { replay, replayAtOnce } from "../../src/canonical/replay.ts";
import { openReasoning, sealedIn, type Sealing, sealStream } from "../../src/transforms/sealing.ts";
import { transform } from "../../src/programs/testing/stages.ts";
import { assertWellFormed } from "../../src/programs/testing/well_formed.ts";

/** Seals so that a test can read it. */
const SEALING: Sealing = {
  wire: "messages",
  hidden: false,
  keepsOwn: true,
  seal: (thought) => `lw1.${JSON.stringify(thought)}`,
};
const open = ({ data }: { data: string }) => data.includes("stale") ? undefined : JSON.parse(data.slice(4));

const own = { origin: "messages", data: "c2ln" };
const foreign = { origin: "responses", data: "Z0FB", target: "one/m" };
const redacted = { wire: "messages", fields: { type: "redacted_thinking" } };
const THOUGHTS: OutputPart[] = [
  { type: "reasoning", text: " plain\n" },
  { type: "text", text: "and" },
  { type: "reasoning", text: "signed", opaque: own },
  { type: "reasoning", text: "", opaque: own, extra: redacted },
  { type: "reasoning", text: "both", opaque: foreign },
  { type: "reasoning", text: "", opaque: foreign },
  { type: "tool-call", kind: "function", id: "call_1", name: "look", input: "{}" },
];
const usage = { inputTokens: 1, outputTokens: 1 };
const RESPONSE: GenerateResponse = { model: "m", content: THOUGHTS, finish: { reason: "tool-calls" }, usage };

/** The parts of the whole answer, which pass in one piece each. */
function sealed(sealing: Sealing): OutputPart[] {
  return collect(transform(sealStream(sealing), replayAtOnce(RESPONSE))).content;
}

for (
  const sealing of [
    SEALING,
    { ...SEALING, hidden: true },
    { ...SEALING, wire: "responses", keepsOwn: false },
    { ...SEALING, wire: "messages", keepsOwn: false },
  ]
) {
  const { wire, hidden, keepsOwn } = sealing;
  const how = `${wire}${hidden ? ", hidden" : ""}${keepsOwn ? ", its own as it is" : ""}`;

  Deno.test(`sealing (${how}): whole and streamed are the same, in order, and open as they were`, () => {
    const whole = sealed(sealing);
    const events = transform(sealStream(sealing), replay(RESPONSE));
    assertWellFormed(events);
    assertEquals(collect(events).content, whole);
    const [message] = openReasoning([{ role: "assistant", content: whole }], open, () => {});
    assertEquals(message, { role: "assistant", content: THOUGHTS });
  });
}

Deno.test("sealing: what is the wire's own goes out as it is, all else sealed beside its words", () => {
  const [plain, , signed, whole, both] = sealed(SEALING);
  assertEquals(plain, {
    type: "reasoning",
    text: " plain\n",
    opaque: { origin: "messages", data: `lw1.${JSON.stringify({ text: " plain\n" })}` },
  });
  assertEquals([signed, whole], [THOUGHTS[2], THOUGHTS[3]]);
  const data = `lw1.${JSON.stringify({ text: "both", opaque: foreign })}`;
  assertEquals(both, { type: "reasoning", text: "both", opaque: { origin: "messages", data } });
});

Deno.test("sealing: hidden words are nowhere but in what is sealed", () => {
  const texts = sealed({ ...SEALING, hidden: true }).flatMap((part) => part.type === "reasoning" ? [part.text] : []);
  assertEquals(texts, ["", "", "", "", ""]);
  const events = transform(sealStream({ ...SEALING, hidden: true }), replay(RESPONSE));
  assertEquals(events.filter((event) => event.type === "part-delta" && event.delta.type === "reasoning"), []);
});

Deno.test("opening: of what does not open the words stay, of what has none nothing does", () => {
  const stale = { origin: "messages", data: "lw1.stale" };
  const notes = new Set<string>();
  const messages: Message[] = [
    { role: "user", content: [{ type: "text", text: "a" }] },
    { role: "assistant", content: [{ type: "reasoning", text: "", opaque: stale }] },
    { role: "assistant", content: [{ type: "reasoning", text: "hm", opaque: stale }, { type: "text", text: "b" }] },
  ];
  assertEquals(openReasoning(messages, open, (note) => void notes.add(note)), [
    { role: "user", content: [{ type: "text", text: "a" }] },
    { role: "assistant", content: [{ type: "reasoning", text: "hm" }, { type: "text", text: "b" }] },
  ]);
  assertEquals([...notes], ["dropped reasoning that was sealed with another key or for another caller"]);
});

Deno.test("opening: what others signed is left alone, and needs no key", () => {
  const messages: Message[] = [{
    role: "assistant",
    content: [{ type: "reasoning", text: "hm", opaque: own }, { type: "reasoning", text: "none" }],
  }];
  assertEquals(sealedIn(messages), []);
  assertEquals(openReasoning(messages, () => ({ text: "forged" }), () => {}), messages);
});

Deno.test("sealing: a stream that fails in a thought ends in its error", () => {
  const error = { type: "error", error: new Error("gone") } as unknown as GenerateEvent;
  const events = transform(sealStream(SEALING), [...replay(RESPONSE)].slice(0, 3).concat(error));
  assertEquals(events.at(-1), error);
});
