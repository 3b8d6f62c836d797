/** A stage that takes long work for some of what it gets gives the same, in the same order, as one that does it at once. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Emit, StreamReader, StreamTransform } from "../../src/contract/stream.ts";
import { apply } from "../../src/transforms/apply.ts";
import { readEvents } from "../../src/upstream/read_events.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { law } from "../support/law.ts";

/** What comes, and whether it is long work; a negative number is the wire's own end. */
const steps = fc.array(fc.tuple(fc.integer({ min: -1, max: 9 }), fc.boolean()), { maxLength: 12 });

function* slowly(does: () => void): SlicedWork<void> {
  yield;
  does();
  yield;
}

/** Emits each number as often as it says, for some of them as long work. */
function repeating(isSlow: (at: number) => boolean): StreamTransform<number> {
  let at = 0;
  return {
    push(number, emit) {
      const repeat = () => {
        for (let times = 0; times < number % 3; times++) emit(number + times);
      };
      return isSlow(at++) ? slowly(repeat) : repeat();
    },
  };
}

law("slow stages: transforms make the same events of a batch", steps, async (all) => {
  const numbers = all.map(([number]) => Math.abs(number));
  const isSlow = (at: number) => all[at]?.[1] === true;
  const atOnce = apply([repeating(() => false), repeating(() => false)], numbers);
  const inSlices = await apply([repeating(isSlow), repeating((at) => !isSlow(at))], numbers);
  assertEquals(inSlices, atOnce);
});

class NumberReader implements StreamReader<number> {
  done = false;
  readonly #isSlow: (at: number) => boolean;
  #at = 0;

  constructor(isSlow: (at: number) => boolean) {
    this.#isSlow = isSlow;
  }

  read({ data }: { data?: string }, emit: Emit<number>): SlicedWork<void> | void {
    const take = () => {
      if (Number(data) < 0) this.done = true;
      else emit(Number(data));
    };
    return this.#isSlow(this.#at++) ? slowly(take) : take();
  }

  end(): void {}
}

law("slow stages: a reader reads the same of the frames of one read, up to the wire's own end", steps, async (all) => {
  const frames = all.map(([number]) => ({ data: String(number) }));
  const read = async (isSlow: (at: number) => boolean) => {
    const events: number[] = [];
    await readEvents(frames, new NumberReader(isSlow), (event) => void events.push(event));
    return events;
  };
  assertEquals(await read((at) => all[at]?.[1] === true), await read(() => false));
});
