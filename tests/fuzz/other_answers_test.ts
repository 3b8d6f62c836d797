/**
 * What upstreams of the other tasks, the places behind the hub and the hub itself should not answer. Drivers and catalogs are
 * pure, so they are asked without the core, which waits between the looks at a job: whatever comes is an output or a failure
 * of the upstream's.
 */
import { AssertionError } from "@std/assert";
import fc from "fast-check";
import { audioDriver, audioProtocols } from "../../plugins/audio/mod.ts";
import { embeddingsDriver, embeddingsProtocols } from "../../plugins/embeddings/mod.ts";
import { hubCatalog, hubDrivers, routerCatalog } from "../../plugins/hub/mod.ts";
import { imagesDriver, imagesProtocols } from "../../plugins/images/mod.ts";
import { rerankDriver, rerankProtocols } from "../../plugins/rerank/mod.ts";
import type { JsonValue } from "../../src/canonical/json.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Driver, UpstreamOperation } from "../../src/contract/driver.ts";
import type { AnyProtocol } from "../../src/contract/protocol.ts";
import { GatewayError, toGatewayError } from "../../src/errors.ts";
import { readFrames } from "../support/sources.ts";
import { fromResponse } from "../../src/platform/fetch_transport.ts";
import { readReply } from "../../src/upstream/send.ts";
import { bodyOf, toArray } from "../support/chunks.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { png } from "../support/fake_hub.ts";
import { loadFixtures } from "../support/fixtures.ts";
import { fuzz, hostileJson, hostileStream, oddValue } from "../support/fuzz.ts";
import { readEvents, writeFrames } from "../../src/programs/testing/stages.ts";

const TARGET = { upstream: "test", model: "org/model", systemMessages: "first" } as const;

/** Runs what may fail as an upstream fails, and in no other way. */
async function orFailure<T>(run: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (thrown) {
    if (toGatewayError(thrown).code !== "internal") return undefined;
    throw new AssertionError(`It failed: ${thrown instanceof Error ? thrown.stack : thrown}`, { cause: thrown });
  }
}

interface Tried {
  operation: "embed" | "rerank" | "speak" | "transcribe" | "draw";
  protocol: AnyProtocol;
  body: unknown;
}

const PICTURE = png("a", 2, 2).toBase64();
const SOUND = Uint8Array.from("RIFF\x24\0\0\0WAVEfmt aaaaaaaa", (char) => char.charCodeAt(0));
const FILE = { name: "file", file: { bytes: SOUND, name: "a.wav", mediaType: "audio/wav" } };
const form = (fields: Record<string, string>) => [
  ...Object.entries({ model: "m", ...fields }).map(([name, value]) => ({ name, value })),
  FILE,
];

const named = (protocols: readonly AnyProtocol[], name: string) => protocols.find((one) => one.name === name)!;
const transcription = { operation: "transcribe", protocol: named(audioProtocols, "transcriptions") } as const;

const TRIED: Tried[] = [
  { operation: "embed", protocol: embeddingsProtocols[0]!, body: { model: "m", input: ["a", "b"] } },
  {
    operation: "embed",
    protocol: embeddingsProtocols[0]!,
    body: { model: "m", input: "a", encoding_format: "base64" },
  },
  { operation: "rerank", protocol: rerankProtocols[0]!, body: { model: "m", query: "q", documents: ["a", "b"] } },
  { operation: "rerank", protocol: rerankProtocols[1]!, body: { model: "m", query: "q", documents: ["a", "b"] } },
  { operation: "speak", protocol: named(audioProtocols, "speech"), body: { model: "m", input: "a", voice: "b" } },
  { operation: "draw", protocol: named(imagesProtocols, "images"), body: { model: "m", prompt: "a", n: 2 } },
  {
    operation: "draw",
    protocol: named(imagesProtocols, "images"),
    body: { model: "m", prompt: "a", stream: true, partial_images: 3, response_format: "url" },
  },
  {
    operation: "draw",
    protocol: named(imagesProtocols, "image-edits"),
    body: { model: "m", prompt: "a", images: [{ image_url: `data:image/png;base64,${PICTURE}` }] },
  },
  { ...transcription, body: form({}) },
  { ...transcription, body: form({ response_format: "srt" }) },
  { ...transcription, body: form({ response_format: "vtt" }) },
  { ...transcription, body: form({ response_format: "verbose_json", "timestamp_granularities[]": "word" }) },
  { ...transcription, body: form({ response_format: "diarized_json" }) },
];

const segments = [{
  start: 0,
  end: 1.5,
  text: "Hello",
  speaker: "A",
  words: [{ word: "Hello", start: 0, end: 1 }],
  id: 1,
}];
const usage = { type: "tokens", input_tokens: 5, output_tokens: 2, prompt_tokens: 5, total_tokens: 7 };

/** Answers as the servers behind each driver write them. */
const ANSWERS: JsonValue[] = [
  ...["embeddings", "rerank"].flatMap((wire) => loadFixtures(wire).map(({ response }) => response.json ?? null)),
  { object: "list", data: [{ index: 0, embedding: [1, 2] }, { index: 1, embedding: "AACAPwAAAEA=" }], usage },
  [[1, 2], [3, 4]],
  [[[1, 2], [3, 4]], [[5, 6]]],
  [[[[1, 2]]], [[[3, 4]]]],
  {
    results: [{ index: 1, relevance_score: 0.5 }, { index: 0, relevance_score: 0.1 }],
    meta: { tokens: { input_tokens: 5 } },
  },
  [{ index: 0, score: 0.5 }, { index: 1, score: 0.1 }],
  [[{ label: "LABEL_0", score: 0.5 }], [{ label: "LABEL_0", score: 0.1 }]],
  { text: "Hello", language: "en", duration: 1.5, segments, words: segments[0]!.words, usage },
  { text: "Hello", chunks: [{ timestamp: [0, 1.5], text: "Hello" }, { timestamp: [1.5, null], text: "you." }] },
  { transcription: "Hello", segments, detected_language: "english", translation: null },
  { id: "p1", status: "succeeded", output: "https://replicate.delivery/a.wav", error: null },
  { id: "p1", status: "processing", output: null, urls: { get: "https://api/p1" } },
  { id: "p1", status: "failed", error: "out of memory" },
  {
    created: 1,
    data: [{ b64_json: PICTURE, revised_prompt: "b" }, { url: "https://a.test/b.png" }],
    size: "1x1",
    usage,
  },
  { type: "image_generation.partial_image", b64_json: PICTURE, partial_image_index: 0 },
  { type: "image_generation.completed", b64_json: PICTURE, usage },
  { images: [{ url: "https://v3.fal.media/a.png" }] },
  { request_id: "r", status: "IN_QUEUE", response_url: "https://queue.fal.run/a/b/requests/r" },
  { request_id: "r", status: "COMPLETED", response_url: "https://queue.fal.run/a/b/requests/r" },
  { data: { urls: { get: "https://api.wavespeed.ai/api/v3/predictions/r/result" }, status: "created", outputs: [] } },
  { data: { status: "completed", outputs: [`data:image/png;base64,${PICTURE}`] } },
  { id: "t", task_status: "PROCESSING" },
  { task_status: "SUCCESS", image_result: [{ url: "https://a.test/b.png" }] },
  { audio: { url: "https://v3.fal.media/a.mp3", content_type: "audio/mpeg" } },
  { audio: "data:audio/wav;base64,UklGRiQAAABXQVZF" },
  { error: { message: "It failed", type: "server_error", code: 500, param: "input" } },
  { detail: [{ loc: ["body", "input"], msg: "field required", type: "missing" }] },
  { error: "Model is loading", estimated_time: 20 },
  { message: "no", error_type: "validation" },
];

const replies = fc.record({
  status: fc.constantFrom(200, 200, 200, 400, 401, 404, 422, 424, 429, 500, 503),
  headers: fc.constantFrom<HeadersInit>(
    { "content-type": "application/json" },
    { "content-type": "text/plain" },
    { "content-type": "audio/wav" },
    { "content-type": "image/png" },
    { "content-type": "text/event-stream" },
    {
      "content-type": "application/json",
      "x-compute-tokens": "1e400",
      "retry-after": "\u00e9",
      "x-error-message": "x",
    },
    {},
  ),
  body: hostileJson(fc.constantFrom(...ANSWERS)),
});

const DRIVERS: readonly Driver[] = [embeddingsDriver, rerankDriver, audioDriver, imagesDriver, ...hubDrivers];
const WAYS = DRIVERS.flatMap((driver) =>
  TRIED.filter(({ operation }) => driver.operations[operation]).map((tried) => ({ driver, tried }))
);

for (const driver of DRIVERS) {
  const ways = fc.constantFrom(...WAYS.filter((way) => way.driver === driver));
  fuzz(`${driver.name}: answers`, 60, fc.tuple(ways, replies), async ([{ tried }, { status, headers, body }]) => {
    const reply = await orFailure((): Promise<Reply> =>
      readReply(fromResponse(new Response(body, { status, headers })), 1_000_000)
    );
    if (!reply) return;
    const error = await orFailure(() => driver.parseError(reply));
    if (!(error instanceof GatewayError)) throw new AssertionError("An error is read as one");
    const context = newContext(tried.protocol.name);
    await orFailure(async () => {
      const protocol = tried.protocol as Extract<AnyProtocol, { operation: "embed" }>;
      const wire = newWireRequest(tried.body);
      await protocol.load?.();
      const input = protocol.parse(wire, context);
      const way = driver.operations[tried.operation] as UpstreamOperation<"embed">;
      await way.load?.();
      way.request(input, TARGET, context);
      await orFailure(() => way.cancel?.(reply));
      await orFailure(() => way.next?.(reply, input, 0));
      const output = way.response([reply], input, TARGET, context);
      const exchange = {
        ...context,
        id: "1",
        created: 1,
        input,
        wire,
        now: () => 1,
        stored: false,
        elapsedMs: () => 0,
        frames: { sent: 0 },
      };
      await protocol.serialize(output, exchange).text();
    });
  });
}

const data = (...values: JsonValue[]) => values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
const TRANSCRIPTS = [
  data({ type: "transcript.text.delta", delta: "Hel" }, { type: "transcript.text.delta", delta: "lo", logprobs: [] }, {
    type: "transcript.text.done",
    text: "Hello",
    usage,
  }),
  data({ type: "transcript.text.segment", ...segments[0]! }, { type: "transcript.text.done", text: "Hello" }),
  data({ choices: [{ delta: { content: "Hello" } }] }, { choices: [], usage }) + "data: [DONE]\n\n",
  data({ text: "Hello" }, { text: " you" }),
];

fuzz("audio: streams of transcripts", 60, hostileStream(fc.constantFrom(...TRANSCRIPTS)), async (text) => {
  const context = newContext("audio");
  const wire = newWireRequest(form({ stream: "true", response_format: "diarized_json" }));
  const protocol = transcription.protocol as Extract<AnyProtocol, { operation: "transcribe" }>;
  const input = protocol.parse(wire, context);
  const way = audioDriver.operations.transcribe as UpstreamOperation<"transcribe">;
  await orFailure(async () => {
    const frames = await toArray(readFrames(bodyOf([new TextEncoder().encode(text)])));
    const exchange = {
      ...context,
      id: "1",
      created: 1,
      input,
      wire,
      now: () => 1,
      elapsedMs: () => 0,
      stored: false,
      frames: { sent: 0 },
    };
    writeFrames(protocol.stream!.writer(exchange), readEvents(way.stream!.reader(input, TARGET, context), frames));
  });
});

// The hub's pages and lists

const PROVIDERS = {
  "hf-inference": { status: "live", providerId: "org/model", task: "feature-extraction" },
  "fal-ai": { status: "live", providerId: "fal-ai/whisper", task: "automatic-speech-recognition" },
};
const PAGE = {
  id: "org/model",
  pipeline_tag: "feature-extraction",
  tags: ["conversational", "cross-encoder"],
  library_name: "sentence-transformers",
  createdAt: "2025-01-01T00:00:00.000Z",
  inferenceProviderMapping: PROVIDERS,
};
const PAGES: JsonValue[] = [
  PAGE,
  { ...PAGE, inferenceProviderMapping: Object.entries(PROVIDERS).map(([provider, entry]) => ({ provider, ...entry })) },
  [PAGE, PAGE],
  {
    data: [{
      id: "org/model",
      created: 1,
      owned_by: "org",
      architecture: { input_modalities: ["text"] },
      providers: [{ provider: "a", status: "live", context_length: 1000, supports_tools: true }],
    }],
  },
];

fuzz(
  "hub: pages and lists of models",
  80,
  fc.tuple(hostileJson(fc.constantFrom(...PAGES)), fc.constantFrom(200, 401, 404, 500), oddValue),
  async ([body, status, name]) => {
    const link = { "content-type": "application/json", link: '<https://hub/api/models?cursor=a>; rel="next"' };
    const reply = await orFailure(() =>
      readReply(fromResponse(new Response(body, { status, headers: link })), 1_000_000)
    );
    if (!reply) return;
    const finder = hubCatalog.finder!;
    await orFailure(() => hubCatalog.next!(reply));
    await orFailure(() => hubCatalog.parseListing([reply]));
    await orFailure(() => routerCatalog.parseListing([reply]));
    const asked = typeof name === "string" ? name : "org/model:preferred";
    await orFailure(() => finder.lookup(asked));
    await orFailure(() => finder.guess(asked, "embedding"));
    const found = await orFailure(() => finder.parse(reply));
    if (found) await orFailure(() => finder.choose(found, asked, "transcription"));
  },
);
