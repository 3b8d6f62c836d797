import { assert, assertEquals } from "@std/assert";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { isJsonText } from "../../src/canonical/json.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { readFrames } from "../support/sources.ts";
import { bodyOf, boundariesOf, latin1, toArray } from "../support/chunks.ts";
import { newContext } from "../support/context.ts";
import { SAMPLE, sampleOf } from "../support/law.ts";
import { answerBytes, type Fixture, isStream, loadFixtures, wireRequest } from "../support/fixtures.ts";
import { assertWellFormed, comparable } from "../../src/programs/testing/well_formed.ts";
import { CHAT, CLIENT_WIRES, type Wire, WIRES } from "../support/wires.ts";

const CUT = new GatewayError("upstream_error", "The connection was cut");

/** One stream fixture, and what all of it comes to. */
class Stream {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly boundaries: number[];
  readonly #input;
  #whole: Promise<GenerateEvent[]> | undefined;
  /** The bytes that say how the answer ended: before the first of them nobody can know it, after the last everybody. */
  readonly #ending: { from: number; to: number };

  readonly wire: Wire;
  readonly fixture: Fixture;

  constructor(wire: Wire, fixture: Fixture) {
    this.wire = wire;
    this.fixture = fixture;
    this.bytes = answerBytes(fixture);
    this.boundaries = boundariesOf(this.bytes);
    this.#input = wire.inputOf(fixture);
    const said = wire.marks.ending.exec(latin1(this.bytes))?.index ?? Infinity;
    this.#ending = { from: said, to: this.boundaries.find((boundary) => boundary > said) ?? Infinity };
  }

  frames(from: number, to: number, failure?: unknown): Promise<Frame[]> {
    return toArray(readFrames(bodyOf([this.bytes.subarray(from, to)], failure)));
  }

  /** Checks what comes of these frames, the first `length` bytes of the stream. */
  async check(frames: Iterable<Frame>, length: number, failure?: unknown): Promise<GenerateEvent[]> {
    const where = `${this.fixture.name} ${failure ? "broken" : "closed"} after ${length} bytes`;
    const events = this.wire.readEvents(frames, this.#input, newContext(), failure);
    // In the test that asks for it first: a test may leave nothing to another one.
    const whole = await (this.#whole ??= this.wire.readStream(this.fixture, bodyOf([this.bytes])));
    const last = events.at(-1)!;
    const meant = whole.at(-1)!;
    try {
      assertWellFormed(events);
      if (length < this.#ending.from) assertEquals(last.type, "error");
      if (last.type === "finish" && meant.type === "finish") assertEquals(last.finish.reason, meant.finish.reason);
      if (!failure && length >= this.#ending.to && this.boundaries.includes(length)) {
        assertEquals(last.type, meant.type);
      }
      if (last.type === "error") {
        // The connection broke, unless the upstream had failed in another way before that.
        if (failure && last.error !== failure) {
          assertEquals(comparable([last]), comparable([meant]));
        }
        const complete = JSON.stringify(events.slice(0, -1));
        if (complete !== JSON.stringify(whole.slice(0, events.length - 1))) assertEquals(events, whole);
      }
    } catch (error) {
      throw new Error(where, { cause: error });
    }
    return events;
  }
}

/**
 * Where to cut a frame: everywhere, but only once between the letters of its words, or at three places where a frame of the
 * same shape was cut before.
 */
function cutsOf(bytes: Uint8Array, from: number, to: number, isKnown: boolean): number[] {
  if (to - from < 2) return [];
  const isInWords = (at: number) => at > from + 2 && /^[\w -]{3}$/.test(latin1(bytes.subarray(at - 2, at + 1)));
  const all = Array.from({ length: to - from - 1 }, (_, index) => from + 1 + index);
  return isKnown
    ? all.filter((_, index) => index % Math.ceil((to - from) / 3) === 0)
    : all.filter((at) => !isInWords(at));
}

/** Frames without their values. */
function shapeOf(frames: Frame[]): string {
  const blank = (_: string, value: unknown) => typeof value === "string" || typeof value === "number" ? 0 : value;
  return JSON.stringify(frames.map(({ data = "", event }) => {
    return [event, isJsonText(data) ? JSON.stringify(JSON.parse(data), blank) : data];
  }));
}

function streamsOf(wire: Wire): Stream[] {
  const streams = sampleOf(loadFixtures(wire.name).filter(isStream)).map((fixture) => new Stream(wire, fixture));
  assert(streams.length > 0);
  return streams;
}

for (const wire of WIRES) {
  const streams = streamsOf(wire);

  Deno.test(`${wire.name}: a stream that closes early ends in an error, or as it was said to end (${SAMPLE})`, async () => {
    const shapes = new Set<string>();
    for (const stream of streams) {
      const frames: Frame[] = [];
      for (const [position, from] of stream.boundaries.entries()) {
        await stream.check(frames, from);
        const to = stream.boundaries[position + 1] ?? from;
        const next = await stream.frames(from, to);
        const shape = shapeOf(next);
        const known = shapes.has(shape);
        shapes.add(shape);
        for (const length of cutsOf(stream.bytes, from, to, known)) {
          const partial = await stream.frames(from, length);
          if (partial.length > 0) await stream.check([...frames, ...partial], length);
        }
        frames.push(...next);
      }
    }
  });

  Deno.test(`${wire.name}: a stream whose connection breaks ends in that error, or as it was said to end (${SAMPLE})`, async () => {
    for (const stream of streams) {
      const frames: Frame[] = [];
      for (const [position, from] of stream.boundaries.entries()) {
        await stream.check(frames, from, CUT);
        frames.push(...await stream.frames(from, stream.boundaries[position + 1] ?? from));
      }
    }
  });
}

for (const wire of CLIENT_WIRES) {
  // No upstream speaks every wire of the clients.
  const from = WIRES.find(({ name }) => name === wire.name) ?? CHAT;
  Deno.test(`${wire.name}: a client sees where a stream was cut: an error, and no end mark (${SAMPLE})`, async () => {
    for (const stream of streamsOf(from)) {
      const request = wireRequest(stream.fixture);
      for (const length of stream.boundaries) {
        const events = await stream.check(await stream.frames(0, length), length);
        const exchange = wire.newExchange(from.inputOf(stream.fixture), request);
        const text = wire.writeText(events, exchange);
        const failed = events.at(-1)!.type === "error";
        const where = `${stream.fixture.name} closed after ${length} bytes: ${text}`;
        assertEquals(text.split(wire.marks.done).length - 1, failed ? 0 : 1, where);
        assertEquals(text.split(wire.marks.error).length - 1, failed ? 1 : 0, where);
      }
    }
  });
}
