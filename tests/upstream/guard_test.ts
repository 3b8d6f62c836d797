import { assertEquals } from "@std/assert";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { GatewayError } from "../../src/errors.ts";
import { guard } from "../../src/upstream/guard.ts";
import { sourceOf } from "../../src/util/event_source.ts";
import { fromArray, toArray } from "../support/chunks.ts";
import { eachOf, sourceFrom } from "../support/sources.ts";

const START: GenerateEvent = { type: "start", model: "m", inputTokens: 1 };
const FINISH: GenerateEvent = {
  type: "finish",
  finish: { reason: "stop" },
  usage: { inputTokens: 1, outputTokens: 1 },
};

/** The events that come out, as those who watch see them too. */
async function guarded(events: AsyncIterable<GenerateEvent>): Promise<GenerateEvent[]> {
  const seen: GenerateEvent[] = [];
  const out = await toArray(eachOf(guard(sourceFrom(events), { onEvent: (event) => void seen.push(event) })));
  assertEquals(seen, out);
  return out;
}

function codes(events: readonly GenerateEvent[]): string[] {
  return events.map((event) => event.type === "error" ? event.error.code : event.type);
}

Deno.test("guard: a stream that ends well is left as it is", async () => {
  assertEquals(await guarded(fromArray([START, FINISH])), [START, FINISH]);
});

Deno.test("guard: what is thrown becomes the last event", async () => {
  const failure = new GatewayError("rate_limit", "Too many requests");
  assertEquals(await guarded(fromArray([START], failure)), [START, { type: "error", error: failure }]);
});

Deno.test("guard: what a stranger throws is told as our own failure, and its words stay inside", async () => {
  const out = await guarded(fromArray([START], new Error("password=hunter2")));
  assertEquals(codes(out), ["start", "internal"]);
  const [, last] = out;
  assertEquals(last?.type === "error" && last.error.message.includes("hunter2"), false);
});

Deno.test("guard: a stream that just stops is a failure of the upstream", async () => {
  assertEquals(codes(await guarded(fromArray([]))), ["upstream_error"]);
  assertEquals(codes(await guarded(fromArray([START]))), ["start", "upstream_error"]);
});

Deno.test("guard: nothing comes after the end", async () => {
  assertEquals(codes(await guarded(fromArray([START, FINISH, START]))), ["start", "finish"]);
  assertEquals(codes(await guarded(fromArray([START, FINISH], new Error("late")))), ["start", "finish"]);
});

Deno.test("guard: nothing comes after the end, though it came with it", async () => {
  const events = await toArray(eachOf(guard(sourceOf([START, FINISH, START]), { onEvent: () => {} })));
  assertEquals(codes(events), ["start", "finish"]);
});

Deno.test("guard: leaving it early ends what it reads", async () => {
  let isOver = false;
  async function* events(): AsyncGenerator<GenerateEvent> {
    try {
      for (;;) yield await Promise.resolve(START);
    } finally {
      isOver = true;
    }
  }
  for await (const _ of eachOf(guard(sourceFrom(events()), { onEvent: () => {} }))) break;
  assertEquals(isOver, true);
});

Deno.test("guard: an error is told in the same way whether it is thrown or is an event", async () => {
  const failure = new GatewayError("upstream_error", "The key abc is not good");
  const tell = ({ code }: GatewayError) => new GatewayError(code, "The key *** is not good");
  const inside: GenerateEvent = { type: "error", error: failure };
  for (const events of [fromArray([START], failure), fromArray([START, inside])]) {
    const seen: GenerateEvent[] = [];
    const [, last, ...more] = await toArray(
      eachOf(guard(sourceFrom(events), { onEvent: (event) => void seen.push(event), changeError: tell })),
    );
    assertEquals(last?.type === "error" && last.error.message, "The key *** is not good");
    assertEquals([more, seen[1]], [[], last]);
  }
});
