/** Hosted tools that the gateway runs, as clients of the Gemini wire see them. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newHostedRig } from "../support/hosted_rig.ts";

interface Candidate {
  content: { parts: { text?: string }[] };
  finishReason?: string;
  groundingMetadata?: {
    webSearchQueries: string[];
    groundingChunks: { web: { uri: string; title: string } }[];
    groundingSupports: {
      segment: { startIndex: number; endIndex: number; text: string };
      groundingChunkIndices: number[];
    }[];
  };
}

const ASKED = { contents: [{ role: "user", parts: [{ text: "What is the weather in Oslo?" }] }] };
const SEARCH = 'web_search{"query":"weather oslo"}';
const CITED = "🙂 It rains [1].";

for (const mode of ["whole", "streamed"] as const) {
  const path = `/oss/v1beta/models/model:${mode === "whole" ? "generateContent" : "streamGenerateContent"}`;

  Deno.test(`gemini: a search is run, and its sources are named where the text cites them · ${mode}`, async () => {
    const { app, searched } = newHostedRig({ rounds: [["I search.", SEARCH], [CITED]] });
    const response = await app.post(path, { ...ASKED, tools: [{ googleSearch: {} }] });
    const answer = await response.json();
    const candidates = [answer].flat().map((piece: { candidates: Candidate[] }) => piece.candidates[0]!);
    assertEquals([response.status, searched], [200, ["weather oslo"]]);
    const text = candidates.flatMap(({ content }) => content.parts).map((part) => part.text).join("");
    assertEquals(text, `I search.\n\n${CITED}`);
    const { groundingMetadata, finishReason } = candidates.at(-1)!;
    assertEquals(finishReason, "STOP");
    assertEquals(groundingMetadata!.webSearchQueries, ["weather oslo"]);
    assertEquals(groundingMetadata!.groundingChunks, [{ web: { uri: "https://weather.test/oslo", title: "Oslo" } }]);
    const [{ segment, groundingChunkIndices }] = groundingMetadata!.groundingSupports as [
      NonNullable<Candidate["groundingMetadata"]>["groundingSupports"][0],
    ];
    // Places are counted in bytes.
    const bytes = new TextEncoder().encode(text).subarray(segment.startIndex, segment.endIndex);
    assertEquals([new TextDecoder().decode(bytes), segment.text, groundingChunkIndices], ["[1]", "[1]", [0]]);
  });

  Deno.test(`gemini: a search that nobody runs is refused alone, and dropped beside functions · ${mode}`, async () => {
    const { app } = newHostedRig({ rounds: [["Hello"]], config: { hostedTools: undefined } as unknown as JsonObject });
    const alone = await app.post(path, { ...ASKED, tools: [{ googleSearch: {} }] });
    assertEquals([alone.status, (await alone.json()).error.status], [400, "INVALID_ARGUMENT"]);
    const beside = await app.post(path, {
      ...ASKED,
      tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: "f" }] }],
    });
    assertEquals(beside.status, 200);
    await beside.text();
    await app.settled();
    assert(app.logs.at(-1)!.notes!.includes("dropped tool googleSearch"));
  });
}
