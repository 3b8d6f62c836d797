import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { serializeSrt, serializeVtt } from "../../../plugins/audio/transcript.ts";
import type { TranscriptSegment } from "../../../src/canonical/audio.ts";

const CASES: [what: string, segments: [start: number, end: number, text: string][], srt: string, vtt: string][] = [
  ["nothing said", [], "", "WEBVTT\n"],
  [
    "two cues",
    [[0, 1.5, " Hello"], [1.5, 2.25, " world."]],
    "1\n00:00:00,000 --> 00:00:01,500\nHello\n\n2\n00:00:01,500 --> 00:00:02,250\nworld.\n",
    "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello\n\n00:00:01.500 --> 00:00:02.250\nworld.\n",
  ],
  [
    "hours, and more than a day of them",
    [[3661.007, 3662, "a"], [360000, 360001, "b"]],
    "1\n01:01:01,007 --> 01:01:02,000\na\n\n2\n100:00:00,000 --> 100:00:01,000\nb\n",
    "WEBVTT\n\n01:01:01.007 --> 01:01:02.000\na\n\n100:00:00.000 --> 100:00:01.000\nb\n",
  ],
  [
    "rounding carries over",
    [[59.9996, 3599.9999, "a"]],
    "1\n00:01:00,000 --> 01:00:00,000\na\n",
    "WEBVTT\n\n00:01:00.000 --> 01:00:00.000\na\n",
  ],
  [
    "binary fractions are rounded, not cut",
    [[0.29, 1.001, "a"]],
    "1\n00:00:00,290 --> 00:00:01,001\na\n",
    "WEBVTT\n\n00:00:00.290 --> 00:00:01.001\na\n",
  ],
  [
    "an end before its start",
    [[2, 1, "a"]],
    "1\n00:00:02,000 --> 00:00:02,001\na\n",
    "WEBVTT\n\n00:00:02.000 --> 00:00:02.001\na\n",
  ],
  [
    "a start before the file",
    [[-0.5, 1, "a"]],
    "1\n00:00:00,000 --> 00:00:01,000\na\n",
    "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na\n",
  ],
  [
    "segments out of order, and empty ones between them",
    [[4, 5, "b"], [2, 3, " \n "], [0, 1, "a"], [1, 2, ""]],
    "1\n00:00:00,000 --> 00:00:01,000\na\n\n2\n00:00:04,000 --> 00:00:05,000\nb\n",
    "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na\n\n00:00:04.000 --> 00:00:05.000\nb\n",
  ],
  [
    "blank lines and arrows inside a text",
    [[0, 1, "a\r\n\r\n \n b --> c & <i>d</i>\n"]],
    "1\n00:00:00,000 --> 00:00:01,000\na\nb -> c & <i>d</i>\n",
    "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na\nb --&gt; c &amp; &lt;i>d&lt;/i>\n",
  ],
];
for (const [what, segments, srt, vtt] of CASES) {
  const cues = segments.map(([start, end, text]) => ({ start, end, text }));
  Deno.test(`audio: subtitles: ${what} (srt)`, () => assertEquals(serializeSrt(cues), srt));
  Deno.test(`audio: subtitles: ${what} (vtt)`, () => assertEquals(serializeVtt(cues), vtt));
}

const segment: fc.Arbitrary<TranscriptSegment> = fc.record({
  start: fc.double({ min: -1, max: 400_000, noNaN: true }),
  end: fc.double({ min: -1, max: 400_000, noNaN: true }),
  text: fc.array(fc.constantFrom("a", " ", "\n", "\r\n", "-->", "->", "-", ">", "1", "&", "<", "é", "\u2028", "WEBVTT"))
    .map((all) => all.join("")),
});

/** The cues as a player finds them: blocks between blank lines. */
function blocksOf(text: string): string[][] {
  return text.split(/\n\n+/).map((block) => block.split("\n").filter((line) => line !== "")).filter((block) =>
    block.length > 0
  );
}

function msOf(time: string): number {
  const match = /^(\d{2,}):([0-5]\d):([0-5]\d)[,.](\d{3})$/.exec(time);
  assert(match, time);
  const [, hours, minutes, seconds, ms] = (match ?? []).map(Number);
  return ((hours! * 60 + minutes!) * 60 + seconds!) * 1000 + ms!;
}

Deno.test("audio: subtitles: whatever the segments, a player finds every text once, in order of time", () => {
  fc.assert(fc.property(fc.array(segment, { maxLength: 6 }), (segments) => {
    const spoken = segments.filter(({ text }) => text.trim() !== "");
    const srt = blocksOf(serializeSrt(segments));
    const [header, ...vtt] = blocksOf(serializeVtt(segments));
    assertEquals(header, ["WEBVTT"]);
    assertEquals(srt.map(([number]) => number), spoken.map((_, index) => String(index + 1)));
    assertEquals(vtt.length, spoken.length);
    for (const cues of [srt.map((block) => block.slice(1)), vtt]) {
      let before = 0;
      for (const [times = "", ...lines] of cues) {
        const [start = 0, end = 0] = times.split(" --> ").map(msOf);
        assert(start >= before && end > start, times);
        assert(lines.length > 0 && lines.every((line) => line.trim() !== "" && !line.includes("-->")));
        before = start;
      }
    }
  }));
});
