import { assert, assertEquals, assertRejects } from "@std/assert";
import type { EmbedRequest, EmbedResponse } from "../../src/canonical/embed.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import type { FormField } from "../../src/contract/context.ts";
import type { Call } from "../../src/contract/call.ts";
import type { Driver, LocalOperation, UpstreamOperation } from "../../src/contract/driver.ts";
import type { StreamReader } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import type { Attempt } from "../../src/upstream/attempt.ts";
import { answer } from "../../src/upstream/run.ts";
import { stream as streamOf } from "../../src/upstream/stream.ts";
import { type Fetch, fetchTransport } from "../../src/platform/fetch_transport.ts";
import type { Upstream } from "../../src/upstream/send.ts";
import { toArray } from "../support/chunks.ts";
import { eachOf } from "../support/sources.ts";
import { newContext } from "../support/context.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { delay, until, within } from "../support/wait.ts";
import { TARGET } from "../support/wires.ts";
import { DRIVER, newUpstream } from "./upstream.ts";

const EMBED: EmbedRequest = { model: "m", input: ["a", "b", "c"], encoding: "float" };
const GENERATE: GenerateRequest = { model: "m", messages: [], stream: true };
const ANSWER: GenerateResponse = {
  model: "m",
  content: [{ type: "text", text: "two words" }],
  finish: { reason: "stop" },
  usage: { inputTokens: 3, outputTokens: 2 },
};

/** One call for each text, and the numbers that come back as vectors. */
const batch: UpstreamOperation<"embed"> = {
  request: ({ input }) => input.map((text) => ({ path: `embed/${text}`, body: { text: String(text) } })),
  response: (replies): EmbedResponse => ({
    vectors: replies.map(({ body }) => body as number[]),
    usage: { inputTokens: 1 },
  }),
};

/** A job that is asked for until it is done, and a result that is fetched then. */
const job: UpstreamOperation<"embed"> = {
  request: () => ({ path: "jobs", body: {} }),
  next: ({ body }, _, step) => body === "wait" ? { path: `jobs/1?step=${step}`, afterMs: 5 } : undefined,
  response: ([reply]): EmbedResponse => ({ vectors: [reply!.body as number[]], usage: { inputTokens: 1 } }),
};

const generate: UpstreamOperation<"generate"> = {
  request: () => ({ path: "generate", body: {} }),
  response: () => ANSWER,
};

function streaming(reader: StreamReader<GenerateEvent>): UpstreamOperation<"generate"> {
  return { ...generate, stream: { framing: "sse", reader: () => reader } };
}

const local: LocalOperation<"generate"> = { local: () => ANSWER };

function ask<K extends "embed" | "generate">(
  operation: K,
  operations: Driver["operations"],
  fetch: Fetch,
  more: Partial<Attempt<K>> & { upstreamOptions?: Partial<Upstream> } = {},
): Attempt<K> {
  const { upstreamOptions, ...rest } = more;
  const input = more.input ?? (operation === "embed" ? EMBED : GENERATE) as Attempt<K>["input"];
  return {
    operation,
    input,
    prepare: () => input,
    key: "",
    estimate: 1,
    target: TARGET,
    upstream: newUpstream({ driver: { ...DRIVER, operations }, transport: fetchTransport(fetch), ...upstreamOptions }),
    context: newContext(),
    signal: new AbortController().signal,
    onDescribed: () => {},
    ...rest,
  };
}

function stream<K extends "embed" | "generate">(asked: Attempt<K>) {
  return eachOf(streamOf(asked));
}

const NO_CALL: Fetch = () => Promise.reject(new Error("No call was expected"));

Deno.test("run: a batch runs side by side, and its replies keep their order", async () => {
  const { promise: last, resolve } = Promise.withResolvers<void>();
  const upstream = fakeUpstream(
    async () => (await last, Response.json([1])),
    () => Response.json([2]),
    () => (resolve(), Response.json([3])),
  );
  const { vectors } = await answer(ask("embed", { embed: batch }, upstream.fetch));
  assertEquals(vectors, [[1], [2], [3]]);
});

Deno.test("run: of a long batch eight calls run at once, and the replies keep the order of the calls", async () => {
  const input = Array.from({ length: 40 }, (_, at) => String(at));
  let [running, most] = [0, 0];
  const { promise: eightRun, resolve } = Promise.withResolvers<void>();
  const upstream = fakeUpstream(async ({ url }) => {
    most = Math.max(most, ++running);
    if (running === 8) resolve();
    await eightRun;
    const at = Number(url.pathname.split("/").at(-1));
    await delay(at % 3);
    running--;
    return Response.json([at]);
  });
  const asked = ask("embed", { embed: batch }, upstream.fetch, { input: { ...EMBED, input } });
  const { vectors } = await within(answer(asked));
  assertEquals(vectors, input.map((at) => [Number(at)]));
  assertEquals([most, upstream.asked.length], [8, 40]);
});

function untilAborted({ signal }: { signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

Deno.test("run: when one call of a long batch fails, those that wait are not made", async () => {
  const input = Array.from({ length: 40 }, (_, at) => String(at));
  const upstream = fakeUpstream(
    untilAborted,
    () => new Response("no", { status: 500 }),
    untilAborted,
  );
  const asked = ask("embed", { embed: batch }, upstream.fetch, { input: { ...EMBED, input } });
  await assertRejects(() => answer(asked), GatewayError, '500 "no"');
  await delay(30);
  assertEquals(upstream.asked.length, 8);
});

Deno.test("run: a batch of no call is answered without one", async () => {
  const asked = ask("embed", { embed: batch }, NO_CALL, { input: { ...EMBED, input: [] } });
  assertEquals((await answer(asked)).vectors, []);
});

Deno.test("run: a batch whose client leaves ends", async () => {
  const left = new AbortController();
  const upstream = fakeUpstream(({ signal }) =>
    new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  );
  const answering = answer(ask("embed", { embed: batch }, upstream.fetch, { signal: left.signal }));
  await until(() => upstream.asked.length === 3);
  left.abort(new GatewayError("client_closed", "The client closed the connection"));
  assertEquals((await assertRejects(() => within(answering), GatewayError)).code, "client_closed");
});

/** What the upstream got of a call in which it refuses some fields. */
async function sendWithout(refuses: string[], call: Call) {
  let sent: RequestInit | undefined;
  const fetch: Fetch = (_, init) => {
    sent = init;
    return Promise.resolve(Response.json([1]));
  };
  const context = newContext();
  const embed = { ...batch, request: () => call };
  await answer(ask("embed", { embed }, fetch, { context, upstreamOptions: { refuses } }));
  return { body: sent!.body, notes: context.notes };
}

Deno.test("run: refused fields are left out of a form, however often they are there, and the rest goes on", async () => {
  const file = { bytes: new Uint8Array([1, 2]), name: "a.wav", mediaType: "audio/wav" };
  const form: FormField[] = [
    { name: "include[]", value: "a" },
    { name: "model", value: "m" },
    { name: "include[]", value: "b" },
    { name: "file", file },
    { name: "stream", value: "true" },
  ];
  const { body, notes } = await sendWithout(["include[]", "stream", "prompt"], { path: "form", form });
  const sent = body as FormData;
  assertEquals([...sent.keys()], ["model", "file"]);
  const attached = sent.get("file") as File;
  assertEquals([attached.name, attached.type, [...await attached.bytes()]], ["a.wav", "audio/wav", [1, 2]]);
  assertEquals(notes.toSorted(), ["dropped include[]", "dropped stream"]);
});

Deno.test("run: bytes and blobs have no fields that could be refused", async () => {
  const bytes = new Uint8Array([1, 2]);
  for (const body of [bytes, new Blob([bytes], { type: "audio/wav" })]) {
    const { body: sent, notes } = await sendWithout(["type", "stream", "text", "length", "0"], { path: "bytes", body });
    assertEquals([[...await (sent as Blob).bytes()], notes], [[1, 2], []]);
  }
});

Deno.test("run: a batch of which one call fails is a failure", async () => {
  const upstream = fakeUpstream(
    () => Response.json([1]),
    () => new Response("no", { status: 500 }),
    () => Response.json([3]),
  );
  await assertRejects(() => answer(ask("embed", { embed: batch }, upstream.fetch)), GatewayError, '500 "no"');
});

Deno.test("run: when one call of a batch fails, the others are ended", async () => {
  const silent = Promise.withResolvers<Response>();
  const upstream = fakeUpstream(
    ({ signal }) => {
      signal.addEventListener("abort", () => silent.reject(signal.reason));
      return silent.promise;
    },
    () => new Response("no", { status: 500 }),
    () => Response.json([3]),
  );
  await assertRejects(() => answer(ask("embed", { embed: batch }, upstream.fetch)), GatewayError, '500 "no"');
  await assertRejects(() => silent.promise, GatewayError, "given up");
});

Deno.test("run: a job is asked for until it is done", async () => {
  const upstream = fakeUpstream(() => new Response("wait"), () => new Response("wait"), () => Response.json([7]));
  const { vectors } = await answer(ask("embed", { embed: job }, upstream.fetch));
  assertEquals(vectors, [[7]]);
  assertEquals(upstream.asked.map(({ method, url }) => `${method} ${url.pathname}${url.search}`), [
    "POST /v1/jobs",
    "GET /v1/jobs/1?step=0",
    "GET /v1/jobs/1?step=1",
  ]);
});

Deno.test("run: leaving ends the wait for a job", async () => {
  const patient: UpstreamOperation<"embed"> = { ...job, next: () => ({ path: "jobs/1", afterMs: 60_000 }) };
  const left = new AbortController();
  const upstream = fakeUpstream(() => {
    setTimeout(() => left.abort(new GatewayError("client_closed", "The client closed the connection")));
    return new Response("wait");
  });
  const asked = ask("embed", { embed: patient }, upstream.fetch, { signal: left.signal });
  assertEquals((await assertRejects(() => within(answer(asked)), GatewayError)).code, "client_closed");
});

Deno.test("run: a look at a job that goes wrong is not the last word", async () => {
  const upstream = fakeUpstream(
    () => new Response("wait"),
    () => Promise.reject(new TypeError("reset")),
    () => Response.json([7]),
  );
  assertEquals((await answer(ask("embed", { embed: job }, upstream.fetch))).vectors, [[7]]);
  assertEquals(upstream.asked.map(({ method }) => method), ["POST", "GET", "GET"]);
});

Deno.test("run: a job that began and failed is nobody else's to do", async () => {
  const refusing: UpstreamOperation<"embed"> = {
    ...job,
    next: ({ body }) => body === "wait" ? { url: "https://evil.test/result" } : undefined,
  };
  const upstream = fakeUpstream(() => new Response("wait"));
  const error = await assertRejects(() => answer(ask("embed", { embed: refusing }, upstream.fetch)), GatewayError);
  assertEquals([error.code, error.details.workBegun], ["upstream_error", true]);
  const busy = fakeUpstream(() => new Response("busy", { status: 503 }));
  const other = await assertRejects(() => answer(ask("embed", { embed: job }, busy.fetch)), GatewayError);
  assertEquals([other.details.workBegun, busy.asked.length], [undefined, 1]);
});

Deno.test("run: results that lead to results are not followed without an end", async () => {
  const endless: UpstreamOperation<"embed"> = { ...job, next: () => ({ url: "https://media.test/result" }) };
  const upstream = fakeUpstream(() => Response.json([1]));
  const upstreamOptions = { resultsFrom: ["https://media.test"] };
  const asked = ask("embed", { embed: endless }, upstream.fetch, { upstreamOptions });
  const error = await assertRejects(() => answer(asked), GatewayError, "does not end");
  assertEquals([error.details.workBegun, upstream.asked.length], [true, 4]);
});

for (const phase of ["while it waits", "while it is asked for"]) {
  Deno.test(`run: a job whose client leaves ${phase} is ended at the upstream`, async () => {
    const left = new AbortController();
    const cancelling: UpstreamOperation<"embed"> = {
      ...job,
      next: () => ({ path: "jobs/1", afterMs: phase === "while it waits" ? 60_000 : 0 }),
      cancel: ({ body }) => ({ path: `jobs/1/cancel?after=${body}`, method: "POST" }),
    };
    const leave = () => left.abort(new GatewayError("client_closed", "The client closed the connection"));
    const upstream = fakeUpstream(({ url, signal }) => {
      if (url.pathname.endsWith("cancel")) return new Response("ended");
      if (url.pathname.endsWith("jobs")) {
        if (phase === "while it waits") setTimeout(leave);
        return new Response("wait");
      }
      return new Promise<Response>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        leave();
      });
    });
    const asked = ask("embed", { embed: cancelling }, upstream.fetch, {
      signal: left.signal,
      upstreamOptions: { secret: "secret" },
    });
    assertEquals((await assertRejects(() => within(answer(asked)), GatewayError)).code, "client_closed");
    await until(() => upstream.asked.at(-1)!.url.pathname.endsWith("cancel"));
    const { method, url, headers } = upstream.asked.at(-1)!;
    assertEquals([method, url.search, headers.get("authorization")], ["POST", "?after=wait", "Bearer secret"]);
    await delay(0);
  });
}

Deno.test("run: the limit of the whole call holds for a job too", async () => {
  const endless: UpstreamOperation<"embed"> = { ...job, next: () => ({ path: "jobs/1", afterMs: 5 }) };
  const timeouts = { ...newUpstream().timeouts, wholeMs: 100 };
  const upstream = fakeUpstream(() => new Response("wait"));
  const asked = ask("embed", { embed: endless }, upstream.fetch, { upstreamOptions: { timeouts } });
  assertEquals((await assertRejects(() => within(answer(asked)), GatewayError)).code, "upstream_timeout");
});

Deno.test("run: the embedded upstream answers with no call, and its stream is the replay of its answer", async () => {
  assertEquals(await answer(ask("generate", { generate: local }, NO_CALL)), ANSWER);
  assertEquals(texts(await toArray(stream(ask("generate", { generate: local }, NO_CALL)))), ["two", " words"]);
});

Deno.test("run: an upstream that answers whole although a stream was asked for is replayed", async () => {
  const upstream = fakeUpstream(() => Response.json({}));
  const events = stream(ask("generate", { generate: streaming({ done: false, read() {}, end() {} }) }, upstream.fetch));
  assertEquals(texts(await toArray(events)), ["two", " words"]);
});

const REFUSALS: Record<string, { more: Parameters<typeof ask>[3]; operations?: Driver["operations"]; code: string }> = {
  "a missing secret": { more: { upstreamOptions: { missingSecret: "HF_TOKEN" } }, code: "unavailable" },
  "an operation that the driver does not serve": { more: {}, operations: {}, code: "unsupported" },
  "what the gateway will not do": {
    more: {
      onDescribed: () => {
        throw new GatewayError("invalid_request", "Cannot serve the request as it is");
      },
    },
    code: "invalid_request",
  },
};

for (const [name, { more, operations = { generate }, code }] of Object.entries(REFUSALS)) {
  Deno.test(`run: ${name} is refused before any call`, async () => {
    const asked = ask("generate", operations, NO_CALL, more as Partial<Attempt<"generate">>);
    assertEquals((await assertRejects(() => answer(asked), GatewayError)).code, code);
    assertEquals((await assertRejects(() => toArray(stream(asked)), GatewayError)).code, code);
  });
}

Deno.test("run: what will not be done is refused by the embedded upstream too", async () => {
  const onDescribed = () => {
    throw new GatewayError("invalid_request", "Cannot serve the request as it is");
  };
  const asked = ask("generate", { generate: local }, NO_CALL, { onDescribed });
  assertEquals((await assertRejects(() => answer(asked), GatewayError)).code, "invalid_request");
  assertEquals((await assertRejects(() => toArray(stream(asked)), GatewayError)).code, "invalid_request");
});

Deno.test("run: the missing variable is named, and the SDKs are told not to try again", async () => {
  const asked = ask("generate", { generate }, NO_CALL, { upstreamOptions: { missingSecret: "HF_TOKEN" } });
  const error = await assertRejects(() => answer(asked), GatewayError, "set the environment variable HF_TOKEN");
  assertEquals(error.details.retryable, false);
});

Deno.test("run: what an upstream does not stream is asked for whole, and replayed", async () => {
  const upstream = fakeUpstream(() => Response.json({}));
  const events = await toArray(stream(ask("generate", { generate }, upstream.fetch)));
  assertEquals([events.at(0)?.type, events.at(-1)?.type, upstream.asked.length], ["start", "finish", 1]);
});

Deno.test("run: an operation that has no stream says so", async () => {
  const upstream = fakeUpstream(() => Response.json({}));
  const error = await assertRejects(() => toArray(stream(ask("embed", { embed: job }, upstream.fetch))), GatewayError);
  assertEquals([error.code, upstream.asked.length], ["unsupported", 0]);
});

Deno.test("run: leaving a stream early ends the call", async () => {
  let signal: AbortSignal | null | undefined;
  const starts = streaming({
    done: false,
    read: (_, emit) => emit({ type: "start", model: "m", inputTokens: 1 }),
    end() {},
  });
  let isCancelled = false;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: {}\n\n")),
    cancel: () => void (isCancelled = true),
  });
  const fetch: Fetch = (_, init) => {
    signal = init.signal;
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
  for await (const _ of stream(ask("generate", { generate: starts }, fetch))) break;
  assert(isCancelled);
  assertEquals(signal?.aborted, false);
});

/** Every frame is a delta; a stream without an end is cut. */
const deltas = streaming({
  done: false,
  read: ({ data = "" }, emit) => {
    if (data === "bad") throw new GatewayError("upstream_error", "A bad frame");
    emit({ type: "part-delta", index: 0, delta: { type: "text", text: data } });
  },
  end() {
    throw new GatewayError("upstream_error", "The answer was cut");
  },
});

/** Streams these pieces, and then breaks, ends or waits until the call is ended. */
function inPieces(pieces: string[], then: "breaks" | "ends" | "waits"): Fetch {
  return (_, { signal }) => {
    const left = [...pieces];
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => signal?.addEventListener("abort", () => controller.error(signal.reason)),
      pull(controller) {
        const piece = left.shift();
        if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
        else if (then === "breaks") controller.error(new TypeError("connection reset"));
        else if (then === "ends") controller.close();
        else return new Promise(() => {});
      },
    }, { highWaterMark: 0 });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
}

for (
  const [what, pieces, then, message] of [
    ["a bad frame", ["data: one\n\ndata: two\n\ndata: bad\n\n"], "waits", "A bad frame"],
    ["a missing end", ["data: one\n\n", "data: two\n\n"], "ends", "The answer was cut"],
    ["a broken connection", ["data: one\n\ndata: two"], "breaks", "The connection to the upstream was lost"],
  ] as const
) {
  Deno.test(`run: the events before ${what} are given before the failure`, async () => {
    const source = streamOf(ask("generate", { generate: deltas }, inPieces([...pieces], then)));
    const read: string[] = [];
    const error = await assertRejects(async () => {
      for (let batch = await source.next(); batch; batch = await source.next()) read.push(...texts(batch));
    }, GatewayError);
    assertEquals([read, error.message], [["one", "two"], message]);
  });
}

Deno.test("run: a stream whose client is gone fails for that, and one that is ended while it waits just ends", async () => {
  const gone = new AbortController();
  const left = new GatewayError("client_closed", "The client closed the connection");
  const waits = inPieces(["data: one\n\n"], "waits");
  const source = streamOf(ask("generate", { generate: deltas }, waits, { signal: gone.signal }));
  await source.next();
  const next = source.next();
  gone.abort(left);
  assertEquals(await assertRejects(() => next, GatewayError), left);

  const other = streamOf(ask("generate", { generate: deltas }, waits));
  await other.next();
  const waiting = other.next();
  await other.cancel();
  assertEquals(await waiting, undefined);
});

function texts(events: readonly GenerateEvent[]): string[] {
  return events.flatMap((event) => event.type === "part-delta" ? [event.delta.text] : []);
}
