/** Answers and requests of the Gemini API that its SDK does not bring about. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Grounding } from "../../../plugins/gemini/grounding.ts";
import type { GenerateRequest, GenerateResponse } from "../../../src/canonical/generate.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { replay } from "../../../src/canonical/replay.ts";
import { serializeResponse } from "../../../plugins/gemini/serialize_response.ts";
import { serializeStream } from "../../../plugins/gemini/serialize_stream.ts";
import { assertCheap } from "../../support/cost.ts";
import { newApp } from "../../support/app.ts";
import { answerWhole } from "../../support/chat.ts";
import { newExchange, newWireRequest } from "../../support/context.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";

const input: GenerateRequest = { model: "model", messages: [], stream: false };
const exchange = () => newExchange("gemini", input, newWireRequest({}));

Deno.test("gemini: what is cited stands at the same bytes, whole or streamed, also behind a refusal", () => {
  const response: GenerateResponse = {
    model: "model",
    content: [
      { type: "refusal", text: "Nein – " },
      {
        type: "text",
        text: "see there",
        annotations: [{ type: "url-citation", url: "https://a.test/", start: 4, end: 9 }],
      },
    ],
    finish: { reason: "stop" },
    usage: { inputTokens: 1, outputTokens: 1 },
  };
  const whole = serializeResponse(response, exchange());
  const writer = serializeStream(exchange());
  let last = "";
  for (const event of replay(response)) writer.write(event, ({ data = "" }) => last = data);
  const segmentOf = ({ candidates: [candidate] }: { candidates: JsonObject[] }) =>
    (candidate!.groundingMetadata as { groundingSupports: { segment: JsonObject }[] }).groundingSupports[0]!.segment;
  assertEquals(segmentOf(whole as { candidates: JsonObject[] }), { startIndex: 13, endIndex: 18, text: "there" });
  assertEquals(segmentOf(JSON.parse(last)), { startIndex: 13, endIndex: 18, text: "there" });
});

Deno.test("gemini: files that only the vendor has are refused, and public ones at its hosts go up", async () => {
  const fake = fakeUpstream(() => answerWhole());
  const app = newApp({ fetch: fake.fetch });
  const ask = (fileUri: string) =>
    app.post("/oss/v1beta/models/model:generateContent", {
      contents: [{ parts: [{ fileData: { fileUri, mimeType: "image/png" } }] }],
    });
  for (const uri of ["https://generativelanguage.googleapis.com/v1beta/files/abc", "gs://bucket/a.png", "files/abc"]) {
    const response = await ask(uri);
    assertEquals(response.status, 400, uri);
    assertStringIncludes((await response.json()).error.message, "only files uploaded to the gateway");
  }
  const url = "https://storage.googleapis.com/bucket/a.png";
  assertEquals((await ask(url)).status, 200);
  assertStringIncludes(fake.asked[0]!.body, url);
});

/** The segments that a text cites at these places, and the notes. */
function segmentsOf(text: string, places: readonly (readonly [start: number, end: number])[]) {
  const notes: string[] = [];
  const grounding = new Grounding({ note: (note) => void notes.push(note) });
  grounding.cite(places.map(([start, end]) => ({ type: "url-citation", url: "https://a.test/", start, end })), text, 3);
  const { groundingSupports } = grounding.serialize().groundingMetadata as JsonObject;
  return { segments: (groundingSupports as JsonObject[]).map(({ segment }) => segment as JsonObject), notes };
}

Deno.test("gemini: places are bytes in any order, in pairs and beyond the text", () => {
  const text = "é🙂—ab";
  const places = [[3, 4], [0, 1], [1, 3], [0, 2], [4, 99], [5, 2], [-2, -1]] as const;
  assertEquals(segmentsOf(text, places).segments, [
    { startIndex: 9, endIndex: 12, text: "—" },
    { startIndex: 3, endIndex: 5, text: "é" },
    { startIndex: 5, endIndex: 9, text: "🙂" },
    { startIndex: 3, endIndex: 8, text: "é\ud83d" },
    { startIndex: 12, endIndex: 14, text: "ab" },
    { startIndex: 13, endIndex: 13, text: "" },
    { startIndex: 12, endIndex: 13, text: "a" },
  ]);
});

Deno.test("gemini: thousands of citations that each cite all of a long text stay short and cost little", async () => {
  const text = "—".repeat(1_000_000);
  const places = Array.from({ length: 10_000 }, (_, at) => [at % 7, 999_990] as const);
  await assertCheap(200, () => {
    const { segments, notes } = segmentsOf(text, places);
    assertEquals([segments.length, segments.filter((segment) => "text" in segment).length], [10_000, 1]);
    assertEquals(segments[9_999], { startIndex: 3 + 3 * 3, endIndex: 3 + 3 * 999_990 });
    assertEquals(notes, ["dropped the text of citations"]);
  });
});
