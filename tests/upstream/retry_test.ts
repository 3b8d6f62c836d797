import { assertEquals, assertRejects } from "@std/assert";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../src/errors.ts";
import { firstAnswer, firstStream } from "../../src/upstream/retry.ts";
import { fromArray } from "../support/chunks.ts";

const FAILURES: ErrorCode[] = ["upstream_error", "upstream_timeout", "unavailable", "rate_limit"];
const INABILITIES: ErrorCode[] = ["model_not_found", "unsupported", "unsupported_media_type"];
const WORTH_ANOTHER = [...FAILURES, ...INABILITIES];
const CODES = Object.keys(STATUS_OF) as ErrorCode[];

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
      assertEquals(await told(firstStream(["first", "second", "third"], attemptStream)), ["start second"]);
    } else {
      assertEquals((await assertRejects(() => firstAnswer(["first", "second"], attempt), GatewayError)).code, code);
      assertEquals(await told(firstStream(["first", "second"], attemptStream)), [code]);
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
  const streams = firstStream<ErrorCode, GenerateEvent>(["unavailable", "rate_limit"], attemptStream);
  assertEquals(await told(streams), ["rate_limit"]);
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
  const all = await told(firstStream(["first", "second"], (target) => streams[target]!));
  assertEquals(all, ["start first", "part-start", "finish"]);
});

Deno.test("retry: a stream that fails after content is not asked of another", async () => {
  const streams: Record<string, AsyncIterable<GenerateEvent>> = {
    first: fromArray([start("first"), PART], failure("upstream_error")),
    second: fromArray([start("second"), PART, FINISH]),
  };
  const all = await told(firstStream(["first", "second"], (target) => streams[target]!));
  assertEquals(all, ["start first", "part-start", "upstream_error"]);
});

function start(model: string): GenerateEvent {
  return { type: "start", model, inputTokens: 1 };
}

/** The events in words; a failure as its code. */
async function told(events: AsyncIterable<GenerateEvent>): Promise<string[]> {
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
  const refusal = new GatewayError("invalid_request", "No voice", { elsewhere: true });
  const attempt = (target: string) => target === "second" ? Promise.resolve(target) : Promise.reject(refusal);
  assertEquals(await firstAnswer(["first", "second"], attempt), "second");
  assertEquals(await assertRejects(() => firstAnswer(["first", "third"], attempt)), refusal);
});
