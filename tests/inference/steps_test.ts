/** A source that is read by its steps says what it says when it is asked for its next events. */
import { assert, assertEquals } from "@std/assert";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { AnswerLoop } from "../../src/inference/answer_loop.ts";
import { Breaker } from "../../src/routing/circuit_breaker.ts";
import { firstStream } from "../../src/routing/first_stream.ts";
import { guard } from "../../src/upstream/guard.ts";
import { type EventSource, opening } from "../../src/util/event_source.ts";
import { bySteps, inSteps } from "../support/sources.ts";
import { delay } from "../support/wait.ts";

const START: GenerateEvent = { type: "start", model: "m", inputTokens: 1 };
const FINISH: GenerateEvent = {
  type: "finish",
  finish: { reason: "stop" },
  usage: { inputTokens: 1, outputTokens: 1 },
};
const FAILURE = new GatewayError("rate_limit", "Too many requests");
const PART: GenerateEvent = { type: "part-start", index: 0, part: { type: "text", text: "" } };

function word(text: string): GenerateEvent {
  return { type: "part-delta", index: 0, delta: { type: "text", text } };
}

interface Script {
  batches: GenerateEvent[][];
  failure?: unknown;
}

const SCRIPTS: Record<string, Script> = {
  "an answer": { batches: [[START], [PART, word("a")], [word("b"), word("c")], [word("d")], [FINISH]] },
  "an answer in one piece": { batches: [[START, PART, word("a"), FINISH]] },
  "an answer with more behind it": { batches: [[START], [PART], [word("a"), FINISH, word("b")], [word("c")]] },
  "one that stops": { batches: [[START], [PART], [word("a")]] },
  "one that breaks": { batches: [[START], [PART], [word("a")]], failure: FAILURE },
  "one that breaks without a reason": { batches: [[START], [PART], [word("a")]], failure: new Error("secret") },
  "one that says why it failed": { batches: [[START], [PART], [{ type: "error", error: FAILURE }, word("a")]] },
  "one that breaks at once": { batches: [], failure: FAILURE },
};

/** The source, and what happened to it. */
function sourceOf({ batches, failure }: Script, log: string[]): EventSource<GenerateEvent> {
  const left = [...batches];
  return {
    next() {
      log.push("read");
      if (left.length === 0 && failure !== undefined) return Promise.reject(failure);
      return Promise.resolve(left.shift());
    },
    cancel: () => Promise.resolve(void log.push("cancelled")),
  };
}

/** All layers of a stream, as they stand above each other in a request. */
function layersOver(source: EventSource<GenerateEvent>, log: string[]): EventSource<GenerateEvent> {
  const served = firstStream({
    targets: ["only"],
    idOf: (target) => target,
    acquire: () => Promise.resolve(() => void log.push("released")),
    breaker: new Breaker(Date.now),
    policy: { rounds: 1, failovers: 0, budgetMs: 1_000, baseMs: 1 },
    now: Date.now,
    signal: new AbortController().signal,
    onAsk: () => {},
    onServed: () => void log.push("served"),
    onFailed: (_, error) => void log.push(`failed: ${error}`),
  }, () => opening(() => Promise.resolve(source)));
  return guard(served, {
    change: (event) => event.type === "start" ? { ...event, model: "changed" } : event,
    changeError: ({ code }) => new GatewayError(code, "changed"),
    onEvent: ({ type }) => void log.push(type),
  });
}

async function batchesOf(source: EventSource<GenerateEvent>): Promise<unknown[]> {
  const batches: unknown[] = [];
  for (let batch = await source.next(); batch; batch = await source.next()) {
    batches.push(batch.map((event) => event.type === "error" ? String(event.error) : event));
  }
  await delay(0); // a target is released after it has failed
  return batches;
}

function loopOver(source: EventSource<GenerateEvent>, log: string[]): AnswerLoop<GenerateEvent> {
  const frames = { text: "", add: ({ data }: Frame) => void (frames.text += `${data} `) };
  return new AnswerLoop(source, {
    write: (event, emit) => emit({ data: event.type === "part-delta" ? event.delta.text : event.type }),
  }, {
    transforms: [{ passesDeltas: true, push: (event, emit) => (log.push(`transform ${event.type}`), emit(event)) }],
    before: ({ type }) => type === "finish" ? () => Promise.resolve(void log.push("stored")) : undefined,
  }, { frames, lateNotes: () => [{ data: "late" }], signal: new AbortController().signal });
}

async function chunksOf(loop: AnswerLoop<GenerateEvent>): Promise<string[]> {
  const chunks: string[] = [];
  for (let chunk = await loop.next(); chunk !== undefined; chunk = await loop.next()) chunks.push(chunk);
  await delay(0);
  return chunks;
}

for (const [name, script] of Object.entries(SCRIPTS)) {
  Deno.test(`steps: ${name} is the same by steps`, async () => {
    const log: string[] = [];
    const expected = await batchesOf(layersOver(sourceOf(script, log), log));
    for (const isLate of [false, true]) {
      const seen: string[] = [];
      const source = layersOver(inSteps(sourceOf(script, seen), isLate), seen);
      assertEquals([await batchesOf(bySteps(source)), seen], [expected, log]);
    }
  });

  Deno.test(`steps: ${name} is sent as the same chunks`, async () => {
    const log: string[] = [];
    const expected = await chunksOf(
      loopOver(layersOver(sourceOf(script, log), log), log),
    );
    assert(expected.at(-1)!.startsWith("late "));
    for (const isLate of [false, true]) {
      const seen: string[] = [];
      const source = layersOver(inSteps(sourceOf(script, seen), isLate), seen);
      assertEquals([await chunksOf(loopOver(source, seen)), seen], [expected, log]);
    }
  });
}

Deno.test("steps: no source has any before a target serves, nor after the end", async () => {
  const source = layersOver(inSteps(sourceOf(SCRIPTS["an answer"]!, [])), []);
  const has: boolean[] = [source.steps !== undefined];
  while (await source.next()) has.push(source.steps !== undefined);
  assertEquals(has, [false, true, true, true, false]);
});
