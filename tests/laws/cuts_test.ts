import { assert, assertEquals } from "@std/assert";
import type { ServerSentEvent } from "../../src/contract/frame.ts";
import { readFrames } from "../../src/upstream/frames.ts";
import { bodyOf, boundariesOf, latin1, piecesOf, toArray } from "../support/chunks.ts";
import { answerBytes, isStream, loadFixtures } from "../support/fixtures.ts";
import { comparable } from "../support/well_formed.ts";
import { WIRES } from "../support/wires.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const framesOf = (chunks: Iterable<Bytes>): Promise<ServerSentEvent[]> => toArray(readFrames(bodyOf(chunks)));

for (const wire of WIRES) {
  const streams = loadFixtures(wire.name).filter(isStream);
  assert(streams.length > 0);

  // What follows the frames is a function of the frames, and a blank line leaves nothing behind, so a cut needs to be tried
  // no further than in the frames around it. The next test, which cuts everywhere at once, goes all the way.
  Deno.test(`${wire.name}: no single cut of the bytes of a stream changes its frames`, async () => {
    const tried = new Set<string>();
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
        for (let cut = boundaries[frame - 1]! - from; cut < boundaries[frame]! - from; cut++) {
          const frames = JSON.stringify(await framesOf([around.subarray(0, cut), around.subarray(cut)]));
          if (frames !== whole) assertEquals(frames, whole, `${fixture.name} cut at ${from + cut}`);
        }
      }
    }
  });

  Deno.test(`${wire.name}: a stream that comes byte by byte is the same answer`, async () => {
    for (const fixture of streams) {
      const bytes = answerBytes(fixture);
      const events = async (size: number) => comparable(await wire.readStream(fixture, bodyOf(piecesOf(bytes, size))));
      const whole = await events(bytes.length + 1);
      for (const size of [1, 2, 3, 7, 64]) assertEquals(await events(size), whole, `${fixture.name} by ${size} bytes`);
    }
  });
}
