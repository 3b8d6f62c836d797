import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Frame } from "../../src/contract/frame.ts";
import { readFrames } from "../support/sources.ts";
import { bodyOf, boundariesOf, latin1, piecesOf, toArray } from "../support/chunks.ts";
import { answerBytes, isStream, loadFixtures } from "../support/fixtures.ts";
import { law, SAMPLE, sampleOf } from "../support/law.ts";
import { comparable } from "../../src/programs/testing/well_formed.ts";
import { WIRES } from "../support/wires.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const framesOf = (chunks: Iterable<Bytes>): Promise<Frame[]> => toArray(readFrames(bodyOf(chunks)));

/**
 * The text with one letter in place of the words of a line's value: to the reader of lines all words are alike. Of frames of
 * one shape the first is cut everywhere, the others at three places.
 */
function shapeOf(text: string): string {
  return text.replace(/(?<=:.*)[a-z\d_ -]+/gi, "w");
}

for (const wire of WIRES) {
  const streams = sampleOf(loadFixtures(wire.name).filter(isStream));
  assert(streams.length > 0);

  // What follows the frames is a function of the frames, and a blank line leaves nothing behind, so a cut needs to be tried
  // no further than in the frames around it. The next test, which cuts everywhere at once, goes all the way.
  Deno.test(`${wire.name}: no single cut of the bytes of a stream changes its frames (${SAMPLE})`, async () => {
    const tried = new Set<string>();
    const shapes = new Set<string>();
    for (const fixture of streams) {
      const bytes = answerBytes(fixture);
      const boundaries = boundariesOf(bytes);
      for (let frame = 1; frame < boundaries.length; frame++) {
        const from = boundaries[frame - 2] ?? 0;
        const around = bytes.subarray(from, boundaries[frame + 1]);
        const text = latin1(around);
        if (tried.has(text)) continue;
        tried.add(text);
        const whole = JSON.stringify(await framesOf([around]));
        const [first, end] = [boundaries[frame - 1]! - from, boundaries[frame]! - from];
        const shape = shapeOf(text.slice(first, end));
        const step = shapes.has(shape) ? Math.ceil((end - first) / 3) : 1;
        shapes.add(shape);
        for (let cut = first; cut < end; cut += step) {
          const frames = JSON.stringify(await framesOf([around.subarray(0, cut), around.subarray(cut)]));
          if (frames !== whole) assertEquals(frames, whole, `${fixture.name} cut at ${from + cut}`);
        }
      }
    }
  });

  Deno.test(`${wire.name}: a stream that comes byte by byte is the same answer (${SAMPLE})`, async () => {
    for (const fixture of streams) {
      const bytes = answerBytes(fixture);
      const events = async (size: number) => comparable(await wire.readStream(fixture, bodyOf(piecesOf(bytes, size))));
      const whole = await events(bytes.length + 1);
      for (const size of [1, 7]) assertEquals(await events(size), whole, `${fixture.name} by ${size} bytes`);
    }
  });

  const samples = streams.filter(({ response }) => !response.text!.includes("\r")).map((fixture) => ({
    fixture,
    // Made in the test that asks for it first: a test may leave nothing to another one.
    whole: once(() => wire.readStream(fixture, bodyOf([answerBytes(fixture)])).then(comparable)),
  }));
  const spelt = fc.record({
    sample: fc.constantFrom(...samples),
    lineEnd: fc.constantFrom("\n", "\r\n", "\r"),
    mark: fc.boolean(),
    ping: fc.constantFrom("", ": ping\n\n", "retry: 1000\nid: 7\n\n", ":\n\n"),
    folded: fc.boolean(),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 }),
  });
  law(
    `${wire.name}: line ends, a mark at the start, pings, lines of data and the cuts between bytes change nothing`,
    spelt,
    async ({ sample: { fixture, whole }, lineEnd, mark, ping, folded, cuts }) => {
      const frames = fixture.response.text!.split(/(?<=\n\n)/).map((frame) => folded ? fold(frame) : frame);
      const text = (mark ? "\ufeff" : "") + frames.join(ping).replaceAll("\n", lineEnd);
      const bytes = new TextEncoder().encode(text);
      const places = [...new Set(cuts.map((cut) => Math.floor(cut * bytes.length)))].sort((one, other) => one - other);
      const pieces = [...places, bytes.length].map((to, index) => bytes.subarray(places[index - 1] ?? 0, to));
      assertEquals(
        comparable(await wire.readStream(fixture, bodyOf(pieces.filter(({ length }) => length > 0)))),
        await whole(),
      );
    },
  );
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** JSON may be broken between its members, and its lines then are lines of data. */
function fold(frame: string): string {
  return frame.replace(/^data: (\{"\w+":)(.*\})$/m, "data: $1\ndata: $2");
}
