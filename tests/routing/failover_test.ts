import { assertEquals, assertGreater, assertRejects } from "@std/assert";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../src/errors.ts";
import { Breaker } from "../../src/routing/circuit_breaker.ts";
import { type FailoverPlan, firstAnswer as askAll } from "../../src/routing/failover.ts";
import { firstStream as streamOf } from "../../src/routing/first_stream.ts";
import { fromArray } from "../support/chunks.ts";
import { eachOf, sourceFrom } from "../support/sources.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { until } from "../support/wait.ts";

const FAILURES: ErrorCode[] = ["upstream_error", "upstream_timeout", "unavailable", "rate_limit"];
const INABILITIES: ErrorCode[] = ["model_not_found", "unsupported", "unsupported_media_type", "billing"];
const WORTH_ANOTHER = [...FAILURES, ...INABILITIES];
const CODES = Object.keys(STATUS_OF) as ErrorCode[];

function plan<T extends string>(targets: readonly T[], changes: Partial<FailoverPlan<T>> = {}): FailoverPlan<T> {
  return {
    targets,
    idOf: (target) => target,
    acquire: () => Promise.resolve(() => {}),
    breaker: new Breaker(Date.now),
    policy: { rounds: 3, failovers: 1, budgetMs: 1_000, baseMs: 1 },
    now: Date.now,
    signal: new AbortController().signal,
    onAsk: () => {},
    onServed: () => {},
    onFailed: () => {},
    ...changes,
  };
}

function firstAnswer<T extends string, R>(targets: readonly T[], attempt: (target: T) => Promise<R>): Promise<R> {
  return askAll(plan(targets), attempt);
}

function firstStream<T extends string, E extends { type: string }>(
  targets: readonly T[],
  attempt: (target: T) => AsyncIterable<E>,
): AsyncGenerator<E> {
  return streamAll(plan(targets), attempt);
}

function streamAll<T, E extends { type: string }>(
  plan: FailoverPlan<T>,
  attempt: (target: T, signal: AbortSignal) => AsyncIterable<E>,
): AsyncGenerator<E> {
  return eachOf(streamOf(plan, (target, signal) => sourceFrom(attempt(target, signal))));
}

function failure(code: ErrorCode): GatewayError {
  return new GatewayError(code, "It failed");
}

for (const code of CODES) {
  const isWorth = WORTH_ANOTHER.includes(code);
  Deno.test(`retry: after ${code} the next target is ${isWorth ? "asked" : "not asked"}`, async () => {
    const asked: string[] = [];
    const attempt = (target: string) => {
      asked.push(target);
      return target === "first" ? Promise.reject(failure(code)) : Promise.resolve(target);
    };
    const streamed: string[] = [];
    const attemptStream = (target: string): AsyncIterable<GenerateEvent> => {
      streamed.push(target);
      return target === "first" ? fromArray([], failure(code)) : fromArray([start(target)]);
    };
    if (isWorth) {
      assertEquals(await firstAnswer(["first", "second", "third"], attempt), "second");
      assertEquals(await emitted(firstStream(["first", "second", "third"], attemptStream)), ["start second"]);
    } else {
      assertEquals((await assertRejects(() => firstAnswer(["first", "second"], attempt), GatewayError)).code, code);
      assertEquals(await emitted(firstStream(["first", "second"], attemptStream)), [code]);
    }
    const expected = isWorth ? ["first", "second"] : ["first"];
    assertEquals([asked, streamed], [expected, expected]);
  });
}

Deno.test("retry: what a stranger throws is not worth another", async () => {
  const attempt = (target: string) => Promise.reject(new Error(target));
  await assertRejects(() => firstAnswer(["first", "second"], attempt), Error, "first");
});

Deno.test("retry: where all targets fail, the last failure is told", async () => {
  const attempt = (code: ErrorCode) => Promise.reject(failure(code));
  const error = await assertRejects(() => firstAnswer(["unavailable", "rate_limit"], attempt), GatewayError);
  assertEquals(error.code, "rate_limit");
  const attemptStream = (code: ErrorCode): AsyncIterable<GenerateEvent> => fromArray([], failure(code));
  const streams = firstStream(["unavailable", "rate_limit"], attemptStream);
  assertEquals(await emitted(streams), ["rate_limit"]);
});

Deno.test("retry: that one target cannot do it is not told where another one failed", async () => {
  const attempt = (code: ErrorCode) => Promise.reject(failure(code));
  for (const codes of [["unavailable", "unsupported"], ["model_not_found", "unavailable"]] as ErrorCode[][]) {
    assertEquals((await assertRejects(() => firstAnswer(codes, attempt), GatewayError)).code, "unavailable");
  }
  const codes: ErrorCode[] = ["unsupported", "unsupported_media_type"];
  assertEquals((await assertRejects(() => firstAnswer(codes, attempt), GatewayError)).code, "unsupported_media_type");
});

const PART: GenerateEvent = { type: "part-start", index: 0, part: { type: "text", text: "" } };
const FINISH: GenerateEvent = {
  type: "finish",
  finish: { reason: "stop" },
  usage: { inputTokens: 1, outputTokens: 1 },
};

Deno.test("retry: a stream that fails after its start goes on at the next target, and starts once", async () => {
  const streams: Record<string, AsyncIterable<GenerateEvent>> = {
    first: fromArray([start("first")], failure("upstream_error")),
    second: fromArray([start("second"), PART, FINISH]),
  };
  const all = await emitted(firstStream(["first", "second"], (target) => streams[target]!));
  assertEquals(all, ["start second", "part-start", "finish"]);
});

Deno.test("retry: of a stream that only starts nothing is told, so that its failure is one", async () => {
  const attempt = () => fromArray([start("only")], failure("upstream_error"));
  assertEquals(await emitted(firstStream(["only"], attempt)), ["upstream_error"]);
});

Deno.test("retry: a stream that fails after content is not asked of another", async () => {
  const streams: Record<string, AsyncIterable<GenerateEvent>> = {
    first: fromArray([start("first"), PART], failure("upstream_error")),
    second: fromArray([start("second"), PART, FINISH]),
  };
  const all = await emitted(firstStream(["first", "second"], (target) => streams[target]!));
  assertEquals(all, ["start first", "part-start", "upstream_error"]);
});

function start(model: string): GenerateEvent {
  return { type: "start", model, inputTokens: 1 };
}

/** The events in words; a failure as its code. */
async function emitted(events: AsyncIterable<GenerateEvent>): Promise<string[]> {
  const words: string[] = [];
  try {
    for await (const event of events) words.push(event.type === "start" ? `start ${event.model}` : event.type);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    words.push(error.code);
  }
  return words;
}

Deno.test("retry: what one target refuses and another may take is asked of the other; else the refusal is told", async () => {
  const refusal = new GatewayError("invalid_request", "No voice", { tryNextTarget: true });
  const attempt = (target: string) => target === "second" ? Promise.resolve(target) : Promise.reject(refusal);
  assertEquals(await firstAnswer(["first", "second"], attempt), "second");
  assertEquals(await assertRejects(() => firstAnswer(["first", "third"], attempt)), refusal);
});

Deno.test("retry: what an upstream had begun to work on is nobody else's to do", async () => {
  const begun = new GatewayError("upstream_error", "The result cannot be had", { workBegun: true });
  const { asked, attempt } = scripted({ a: [begun] });
  assertEquals(await assertRejects(() => firstAnswer(["a", "b"], attempt)), begun);
  assertEquals(asked, ["a"]);
});

// Again, after a wait

/** Each target answers what its list says, one after the other. */
function scripted(script: Record<string, (GatewayError | "ok")[]>) {
  const asked: string[] = [];
  const attempt = (target: string) => {
    asked.push(target);
    const next = script[target]?.shift() ?? "ok";
    return next === "ok" ? Promise.resolve(target) : Promise.reject(next);
  };
  return { asked, attempt };
}

const OVERLOADED = new GatewayError("unavailable", "Overloaded", { notProcessed: true });
/** It may be at work on it. */
const SILENT = new GatewayError("upstream_timeout", "Silent");
const CUT = new GatewayError("upstream_error", "Cut");

Deno.test("retry: where all targets failed, those that did not take the request are asked again", async () => {
  const { asked, attempt } = scripted({ a: [OVERLOADED, OVERLOADED], b: [SILENT], c: [OVERLOADED] });
  assertEquals(await askAll(plan(["a", "b", "c"]), attempt), "c");
  assertEquals(asked, ["a", "b", "c", "a", "c"]);
});

Deno.test("retry: no target that may have taken the request is asked again", async () => {
  for (const failed of [SILENT, CUT]) {
    const { asked, attempt } = scripted({ a: [failed] });
    assertEquals(await assertRejects(() => askAll(plan(["a"]), attempt)), failed);
    assertEquals(asked, ["a"]);
  }
});

Deno.test("retry: a failure that no repetition mends is not repeated", async () => {
  const final = new GatewayError("upstream_error", "Bad credentials", { notProcessed: true, retryable: false });
  const { asked, attempt } = scripted({ a: [final], b: [final] });
  await assertRejects(() => askAll(plan(["a", "b"]), attempt));
  assertEquals(asked, ["a", "b"]);
});

Deno.test("retry: there are so many rounds, and the last failure is told", async () => {
  const { asked, attempt } = scripted({ a: [OVERLOADED, OVERLOADED, OVERLOADED, OVERLOADED] });
  assertEquals(await assertRejects(() => askAll(plan(["a"]), attempt)), OVERLOADED);
  assertEquals(asked, ["a", "a", "a"]);
});

Deno.test("retry: a target that says when to come back is asked then; one that wants too long is not", async () => {
  const soon = new GatewayError("rate_limit", "Slow down", { notProcessed: true, retryAfter: "0.05" });
  const { asked, attempt } = scripted({ a: [soon] });
  const begun = performance.now();
  await askAll(plan(["a"]), attempt);
  assertEquals([asked, performance.now() - begun >= 49], [["a", "a"], true]);

  const late = new GatewayError("rate_limit", "Slow down", { notProcessed: true, retryAfter: "7" });
  const patient = scripted({ a: [late] });
  assertEquals(await assertRejects(() => askAll(plan(["a"]), patient.attempt)), late);
  assertEquals(patient.asked, ["a"]);
});

Deno.test("retry: there is no pause that the budget has no time for", async () => {
  const { asked, attempt } = scripted({ a: [OVERLOADED] });
  const policy = { rounds: 3, failovers: 1, budgetMs: 10, baseMs: 100 };
  assertEquals(await assertRejects(() => askAll(plan(["a"], { policy }), attempt)), OVERLOADED);
  assertEquals(asked, ["a"]);
});

Deno.test("retry: all pauses together fit into the budget", async () => {
  const soon = new GatewayError("rate_limit", "Slow down", { notProcessed: true, retryAfter: "0.04" });
  const { asked, attempt } = scripted({ a: Array(10).fill(soon) });
  const policy = { rounds: 10, failovers: 1, budgetMs: 100, baseMs: 1 };
  assertEquals(await assertRejects(() => askAll(plan(["a"], { policy }), attempt)), soon);
  assertEquals(asked, ["a", "a", "a"]);
});

Deno.test("retry: a target that wants more time than another one is not asked before it is over", async () => {
  const busy = new GatewayError("rate_limit", "Slow down", { notProcessed: true, retryAfter: "0.5" });
  const { asked, attempt } = scripted({ a: [busy], b: [OVERLOADED] });
  assertEquals(await askAll(plan(["a", "b"]), attempt), "b");
  assertEquals(asked, ["a", "b", "b"]);
});

Deno.test("retry: each pause is longer than the one before", async () => {
  const times: number[] = [];
  const attempt = () => {
    times.push(performance.now());
    return Promise.reject(OVERLOADED);
  };
  const policy = { rounds: 5, failovers: 1, budgetMs: 60_000, baseMs: 20 };
  await assertRejects(() => askAll(plan(["a"], { policy }), attempt));
  // Halved at most: see the next test.
  assertGreater(times[4]! - times[3]!, 20 * 2 ** 3 / 2 - 1);
});

Deno.test("retry: what failed together does not come back together", () =>
  withFakeClock(async (clock) => {
    const times: number[] = [];
    const policy = { rounds: 2, failovers: 1, budgetMs: 60_000, baseMs: 100 };
    const ask = async () => {
      let time = 0;
      await askAll(plan(["a"], { policy }), () => {
        if (time++ === 0) return Promise.reject(OVERLOADED);
        times.push(performance.now());
        return Promise.resolve();
      });
    };
    const all = Array.from({ length: 20 }, ask);
    await clock.advance(100);
    await Promise.all(all);
    assertGreater(Math.max(...times) - Math.min(...times), 15);
  }));

Deno.test("retry: a date in retry-after is a time to come back, too", async () => {
  const now = Date.UTC(2026, 10, 21);
  const late = new GatewayError("rate_limit", "Slow down", {
    notProcessed: true,
    retryAfter: new Date(now + 3_600_000).toUTCString(),
  });
  const { asked, attempt } = scripted({ a: [late] });
  await assertRejects(() => askAll(plan(["a"], { now: () => now }), attempt));
  assertEquals(asked, ["a"]);
});

Deno.test("retry: a client that leaves ends the wait", async () => {
  const gone = new AbortController();
  const policy = { rounds: 3, failovers: 1, budgetMs: 60_000, baseMs: 30_000 };
  const { asked, attempt } = scripted({ a: [OVERLOADED] });
  const answer = askAll(plan(["a"], { policy, signal: gone.signal }), attempt);
  setTimeout(() => gone.abort(new Error("left")), 5);
  await assertRejects(() => answer, Error, "left");
  assertEquals(asked, ["a"]);
});

Deno.test("retry: a stream that was refused is asked for again, one that broke off is not", async () => {
  const asked: string[] = [];
  const script: Record<string, AsyncIterable<GenerateEvent>[]> = {
    a: [fromArray([], OVERLOADED), fromArray([start("a"), PART, FINISH])],
    b: [fromArray([start("b")], CUT)],
  };
  const events = streamAll(plan(["a", "b"]), (target) => {
    asked.push(target);
    return script[target]!.shift()!;
  });
  assertEquals(await emitted(events), ["start a", "part-start", "finish"]);
  assertEquals(asked, ["a", "b", "a"]);
});

// Who is resting

Deno.test("retry: what fails again and again is asked last, and serves where nothing else does", async () => {
  const breaker = new Breaker(Date.now, { failures: 2 });
  const asked: string[] = [];
  const attempt = (failing: string) => (target: string) => {
    asked.push(target);
    return target === failing ? Promise.reject(CUT) : Promise.resolve(target);
  };
  for (let time = 0; time < 3; time++) await askAll(plan(["a", "b"], { breaker }), attempt("a"));
  assertEquals(asked.splice(0), ["a", "b", "a", "b", "b"]);
  assertEquals(await askAll(plan(["a", "b"], { breaker }), attempt("b")), "a");
});

Deno.test("retry: a stream that breaks off after its content counts against its target, a client that leaves does not", async () => {
  const breaker = new Breaker(Date.now, { failures: 1 });
  const broken = () => fromArray([start("a"), PART], CUT);
  const gone = new AbortController();
  const all: FailoverPlan<string> = plan(["a", "b"], {
    breaker,
    signal: gone.signal,
    onServed: () => gone.abort(new Error("left")),
  });
  await emitted(streamAll(all, broken));
  assertEquals(breaker.order(["a", "b"], (one) => one), ["a", "b"]);
  await emitted(streamAll({ ...all, signal: new AbortController().signal }, broken));
  assertEquals(breaker.order(["a", "b"], (one) => one), ["b", "a"]);
});

Deno.test("retry: a stream that comes to its end makes up for the failures before it", async () => {
  const breaker = new Breaker(Date.now, { failures: 2 });
  const order = () => breaker.order(["a", "b"], (one) => one).join("");
  const broken = () => fromArray([start("a"), PART], CUT);
  const whole = () => fromArray([start("a"), PART, FINISH]);
  const all: FailoverPlan<string> = plan(["a", "b"], { breaker });
  for (const attempt of [broken, whole, broken]) await emitted(streamAll(all, attempt));
  assertEquals(order(), "ab");
  await emitted(streamAll(all, broken));
  assertEquals(order(), "ba");
});

// Two at once

/** Says nothing until it is let, or given up; tells which. */
function silent(
  log: string[],
  name: string,
  signal: AbortSignal,
  until?: Promise<unknown>,
): AsyncIterable<GenerateEvent> {
  return {
    async *[Symbol.asyncIterator]() {
      const given = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      given.catch(() => log.push(`${name} given up`));
      yield start(name);
      await Promise.race([given, until ?? new Promise(() => {})]);
      yield PART;
      yield FINISH;
    },
  };
}

Deno.test("retry: a target that stays silent is joined by the next; the first that speaks is heard, the other given up", async () => {
  const log: string[] = [];
  const served: string[] = [];
  const hedge = { afterMs: 5, spend: () => true };
  const events = streamAll(
    plan(["a", "b", "c"], { hedge, onServed: (target) => served.push(target) }),
    (target, signal) => {
      log.push(`asked ${target}`);
      return silent(log, target, signal, target === "b" ? Promise.resolve() : undefined);
    },
  );
  assertEquals(await emitted(events), ["start b", "part-start", "finish"]);
  assertEquals(log, ["asked a", "asked b", "a given up"]);
  assertEquals(served[0], "b");
});

Deno.test("retry: a target that speaks in time is joined by nobody", async () => {
  const log: string[] = [];
  const hedge = { afterMs: 60_000, spend: () => true };
  const events = streamAll(plan(["a", "b"], { hedge }), (target, signal) => {
    log.push(target);
    return silent(log, target, signal, new Promise((resolve) => setTimeout(resolve, 20)));
  });
  assertEquals(await emitted(events), ["start a", "part-start", "finish"]);
  assertEquals(log, ["a"]);
});

Deno.test("retry: where the budget for it is spent, nobody is joined", async () => {
  const log: string[] = [];
  const hedge = { afterMs: 5, spend: () => false };
  const spoken = new Promise((resolve) => setTimeout(resolve, 20));
  const events = streamAll(plan(["a", "b"], { hedge }), (target, signal) => {
    log.push(target);
    return silent(log, target, signal, spoken);
  });
  await emitted(events);
  assertEquals(log, ["a"]);
});

for (const thrown of [CUT, failure("invalid_request")]) {
  Deno.test(`retry: one of two at once that fails with ${thrown.code} leaves the other to answer, and no third is asked`, async () => {
    const hedge = { afterMs: 5, spend: () => true };
    const { promise: spoken, resolve: speak } = Promise.withResolvers<void>();
    const asked: string[] = [];
    async function* failing() {
      yield start("b");
      setTimeout(speak);
      throw thrown;
    }
    const events = streamAll(plan(["a", "b", "c"], { hedge }), (target, signal) => {
      asked.push(target);
      return target === "b" ? failing() : silent([], target, signal, spoken);
    });
    assertEquals(await emitted(events), ["start a", "part-start", "finish"]);
    assertEquals(asked, ["a", "b"]);
  });
}

// Places

Deno.test("retry: an attempt holds its place until it is over, however it ends", async () => {
  let held = 0;
  const acquire = () => {
    held++;
    return Promise.resolve(() => void held--);
  };
  await askAll(plan(["a", "b"], { acquire }), scripted({ a: [CUT] }).attempt);
  assertEquals(held, 0);
  const events = streamAll(
    plan(["a", "b"], { acquire }),
    (target) => target === "a" ? fromArray([], CUT) : fromArray([start("b"), PART, FINISH]),
  );
  const seen: number[] = [];
  for await (const _ of events) seen.push(held);
  assertEquals([seen, held], [[1, 1, 1], 0]);
  const left = streamAll(plan(["a"], { acquire }), (_, signal) => silent([], "a", signal, Promise.resolve()));
  for await (const _ of left) break;
  await until(() => held === 0);
});

Deno.test("retry: where a target has no place, the next one is asked", async () => {
  const busy = new GatewayError("unavailable", "Busy", { notProcessed: true });
  const acquire = (target: string) => target === "a" ? Promise.reject(busy) : Promise.resolve(() => {});
  assertEquals(await askAll(plan(["a", "b"], { acquire }), (target) => Promise.resolve(target)), "b");
});

for (const how of ["whole", "streamed"] as const) {
  Deno.test(`a call whose request is over in the moment in which it gets its place is not made, and leaves the place · ${how}`, async () => {
    const leaving = new AbortController();
    let free = 0;
    let asked = 0;
    const own = plan(["one"], {
      signal: leaving.signal,
      acquire() {
        const permit = Promise.withResolvers<() => void>();
        void Promise.resolve().then(() => {
          permit.resolve(() => void free++);
          leaving.abort(new GatewayError("client_closed", "The client has left"));
        });
        return permit.promise;
      },
      onAsk: () => void asked++,
    });
    const answer = how === "whole"
      ? askAll(own, () => Promise.resolve("answer"))
      : streamAll(own, () => fromArray([{ type: "finish" }])).next();
    await assertRejects(() => answer, GatewayError, "The client has left");
    await until(() => free === 1);
    assertEquals(asked, 0);
  });
}
