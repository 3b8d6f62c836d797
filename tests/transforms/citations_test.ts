import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateEvent, TextPart } from "../../src/canonical/generate.ts";
import type { SearchHit } from "../../src/canonical/hosted.ts";
import { citing } from "../../src/transforms/citations.ts";
import { law } from "../support/law.ts";

const hit = (number: number): SearchHit => ({
  number,
  url: `https://${number}.test/`,
  title: `T${number}`,
  text: "x".repeat(200),
});
const usage = { inputTokens: 1, outputTokens: 1 };

function cited(pieces: readonly string[], hits = [hit(1), hit(2), hit(12)]): TextPart {
  const transform = citing(new Map());
  const events: GenerateEvent[] = [];
  const result = { kind: "hits", hits } as const;
  const step = { type: "hosted", id: "a", call: { kind: "web-search", query: "q" }, result } as const;
  const all: GenerateEvent[] = [
    { type: "start", model: "m", inputTokens: 1 },
    { type: "part-start", index: 0, part: step },
    { type: "part-end", index: 0 },
    { type: "part-start", index: 1, part: { type: "text", text: "" } },
    ...pieces.map((text): GenerateEvent => ({ type: "part-delta", index: 1, delta: { type: "text", text } })),
    { type: "part-end", index: 1 },
    { type: "finish", finish: { reason: "stop" }, usage },
  ];
  for (const event of all) transform.push(event, (one) => void events.push(one));
  return collect(events).content[1] as TextPart;
}

const places = ({ text, annotations = [] }: TextPart) =>
  annotations.map(({ url, start, end }) => [url, text.slice(start, end)]);

Deno.test("a number in brackets cites the result of that number, where it stands", () => {
  const part = cited(["🙂 So it is [1], and so [12][2]."]);
  assertEquals(places(part), [["https://1.test/", "[1]"], ["https://12.test/", "[12]"], ["https://2.test/", "[2]"]]);
  assertEquals(part.annotations?.[0]?.quote?.length, 150);
});

Deno.test("no result of that number, no citation", () => {
  assertEquals(places(cited(["[3] [0] [1 ] (1) [a] [12345] a[1"])), []);
  assertEquals(places(cited(["[1]"], [])), []);
});

const words = fc.array(fc.constantFrom("[1]", "[12]", "[2", "]", "[", "a", "🙂", "[[1]]", "[9]", "1"), {
  maxLength: 20,
});
const cuts = fc.array(fc.nat({ max: 40 }), { maxLength: 8 });

law("citations are the same however the text is cut", fc.tuple(words, cuts), ([list, places]) => {
  const text = list.join("");
  const at = [...new Set(places.filter((cut) => cut < text.length))].sort((a, b) => a - b);
  const pieces = [0, ...at].map((from, index) => text.slice(from, at[index] ?? text.length));
  assertEquals(cited(pieces), cited([text]));
});
