import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { parseTranscriptStream, serializeTranscriptStream } from "../../../plugins/audio/transcript_stream.ts";
import type { Transcript, TranscriptEvent, TranscriptFormat } from "../../../src/canonical/audio.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { GatewayError } from "../../../src/errors.ts";
import { formatFrame } from "../../../src/http/framing.ts";
import { readFrames } from "../../support/sources.ts";
import { bodyOf, boundariesOf, toArray } from "../../support/chunks.ts";
import { newContext } from "../../support/context.ts";
import { readEvents, writeFrames } from "../../../src/programs/testing/stages.ts";
import { TARGET } from "../../support/wires.ts";
import { transcriptionOf } from "./support.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const sse = (...bodies: (JsonObject | string)[]) =>
  bodies.map((body) => formatFrame({ data: typeof body === "string" ? body : JSON.stringify(body) })).join("");

/** The events of the body. Throws the failure that ends them. */
async function read(
  pieces: Iterable<Uint8Array<ArrayBuffer>>,
  context = newContext("audio"),
): Promise<TranscriptEvent[]> {
  const frames = await toArray(readFrames(bodyOf(pieces)));
  const events = readEvents(parseTranscriptStream(transcriptionOf(), TARGET, context), frames);
  const last = events.at(-1);
  if (last?.type === "error") throw last.error;
  return events;
}

const chunk = (content: string, rest: JsonObject = {}): JsonObject => ({
  id: "trsc-1",
  object: "transcription.chunk",
  model: "m",
  choices: [{ delta: { content }, ...rest }],
});
const SEGMENT = { type: "transcript.text.segment", id: "seg_1", start: 0, end: 1, text: "Hello", speaker: "A" };
const HELLO: TranscriptEvent[] = [{ type: "delta", text: "Hello" }, { type: "delta", text: " wörld" }];

const STREAMS: [what: string, bytes: Uint8Array<ArrayBuffer>, events: TranscriptEvent[]][] = [
  [
    "the wire's own events",
    encode(sse(
      { type: "transcript.text.delta", delta: "Hello" },
      { type: "transcript.text.delta", delta: " wörld" },
      {
        type: "transcript.text.done",
        text: "Hello wörld",
        usage: { type: "tokens", input_tokens: 5, output_tokens: 2, total_tokens: 7 },
      },
    )),
    [...HELLO, { type: "finish", transcript: { text: "Hello wörld", usage: { inputTokens: 5, outputTokens: 2 } } }],
  ],
  [
    "who speaks",
    encode(
      sse(SEGMENT, { type: "transcript.text.delta", delta: "Hello" }, { type: "transcript.text.done", text: "Hello" }),
    ),
    [
      {
        type: "segment",
        segment: {
          start: 0,
          end: 1,
          text: "Hello",
          speaker: "A",
          extra: { wire: "audio", fields: { id: "seg_1" } },
        },
      },
      { type: "delta", text: "Hello" },
      {
        type: "finish",
        transcript: {
          text: "Hello",
          segments: [
            {
              start: 0,
              end: 1,
              text: "Hello",
              speaker: "A",
              extra: { wire: "audio", fields: { id: "seg_1" } },
            },
          ],
        },
      },
    ],
  ],
  [
    "speaches: an empty text at the end",
    encode(sse(
      { type: "transcript.text.delta", delta: "Hello", logprobs: null },
      { type: "transcript.text.delta", delta: " wörld", logprobs: null },
      { type: "transcript.text.done", text: "", logprobs: null },
    )),
    [...HELLO, { type: "finish", transcript: { text: "Hello wörld" } }],
  ],
  [
    "no text at the end",
    encode(sse({ type: "transcript.text.delta", delta: "Hello" }, { type: "transcript.text.done" })),
    [{ type: "delta", text: "Hello" }, { type: "finish", transcript: { text: "Hello" } }],
  ],
  [
    "no increments",
    encode(sse({ type: "transcript.text.done", text: "Hello" })),
    [{ type: "delta", text: "Hello" }, { type: "finish", transcript: { text: "Hello" } }],
  ],
  [
    "vLLM: every piece of the file has a finish reason",
    encode(sse(
      chunk("Hello", { finish_reason: "stop", stop_reason: null }),
      chunk(" wörld"),
      chunk("", { finish_reason: "stop" }),
      {
        object: "transcription.chunk",
        choices: [],
        usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
      },
      "[DONE]",
    )),
    [...HELLO, { type: "finish", transcript: { text: "Hello wörld", usage: { inputTokens: 5, outputTokens: 2 } } }],
  ],
  ["silence", encode(sse(chunk("", { finish_reason: "stop" }), "[DONE]")), [{
    type: "finish",
    transcript: { text: "" },
  }]],
  [
    "signs of life and events of other kinds",
    encode(`: alive\n\n${sse("", { type: "ping" }, { type: "transcript.text.done", text: "" })}`),
    [{ type: "finish", transcript: { text: "" } }],
  ],
];

for (const [what, bytes, events] of STREAMS) {
  Deno.test(`audio: transcript stream: ${what}`, async () => {
    assertEquals(await read([bytes]), events);
  });

  Deno.test(`audio: transcript stream: ${what}: a cut anywhere changes nothing`, async () => {
    for (let cut = 1; cut < bytes.length; cut++) {
      assertEquals(await read([bytes.slice(0, cut), bytes.slice(cut)]), events, `cut at ${cut}`);
    }
  });

  Deno.test(`audio: transcript stream: ${what}: one that stops before its end fails`, async () => {
    const ending = boundariesOf(bytes).slice(0, -1);
    for (const end of ending) {
      await assertRejects(() => read([bytes.slice(0, end)]), GatewayError, "before it was complete", `end at ${end}`);
    }
  });
}

const BROKEN: [what: string, text: string, message: string][] = [
  [
    "an error in place of a piece",
    sse(chunk("Hello"), { error: { message: "Out of memory" } }, "[DONE]"),
    "Out of memory",
  ],
  ["an event named error", 'event: error\ndata: {"message":"Out of memory"}\n\n', "Out of memory"],
  ["an event of the type error", sse({ type: "error", message: "Out of memory" }), "Out of memory"],
  ["what is cut JSON", sse('{"type":'), "not an event"],
  ["a list", sse("[7]"), "not an event"],
  ["a page", sse("<html>Hello</html>"), "not an event"],
  ["what is no JSON after an event", sse(chunk("Hello"), "Hello"), "not an event"],
  ["an error after plain texts", sse("Hello", '{"error": "CUDA out of memory"}'), "CUDA out of memory"],
  ["an error after plain texts that is no JSON", sse("Hello", '{"error": "No "x""}'), "not an event"],
  ["a segment without times", sse({ ...SEGMENT, start: undefined }), "not an event"],
];
for (const [what, text, message] of BROKEN) {
  Deno.test(`audio: transcript stream: ${what} is the upstream's failure`, async () => {
    const error = await assertRejects(() => read([encode(text)]), GatewayError);
    assertEquals(error.code, "upstream_error");
    assertStringIncludes(error.message, message);
  });
}

Deno.test("audio: transcript stream: log probabilities of increments are dropped, not in silence", async () => {
  const context = newContext("audio");
  const logprobs = [{ token: "Hello", logprob: -0.1 }];
  const bytes = encode(sse(
    { type: "transcript.text.delta", delta: "Hello", logprobs },
    { type: "transcript.text.done", text: "Hello", logprobs },
  ));
  const events = await read([bytes], context);
  assertEquals(events.at(-1), {
    type: "finish",
    transcript: { text: "Hello", extra: { wire: "audio", fields: { logprobs } } },
  });
  assertEquals(context.notes, ["dropped logprobs"]);
});

const FINISHED: Transcript = {
  text: "Hello",
  segments: [{ start: 0, end: 1, text: "Hello", speaker: "A" }],
  usage: { inputTokens: 5, outputTokens: 2 },
  extra: { wire: "audio", fields: { logprobs: [1] } },
};

function written(format: TranscriptFormat, events: TranscriptEvent[]): unknown[] {
  const frames = writeFrames(serializeTranscriptStream({ input: transcriptionOf({ format }) }), events);
  return frames.map(({ event, data }) => [event, JSON.parse(data!)]);
}

const DELTA = [undefined, { type: "transcript.text.delta", delta: "Hello" }];
const DONE = [undefined, {
  type: "transcript.text.done",
  text: "Hello",
  logprobs: [1],
  usage: { type: "tokens", input_tokens: 5, output_tokens: 2, total_tokens: 7 },
}];
const SAID: TranscriptEvent[] = [
  { type: "delta", text: "Hello" },
  { type: "segment", segment: FINISHED.segments![0]! },
  { type: "finish", transcript: FINISHED },
];

Deno.test("audio: transcript stream for a client: increments and the whole, with no mark after it", () => {
  assertEquals(written("json", SAID), [DELTA, DONE]);
});

Deno.test("audio: transcript stream for a client: who said what, where that was asked for", () => {
  assertEquals(written("diarized_json", SAID), [DELTA, [undefined, { ...SEGMENT, id: "seg_0" }], DONE]);
});

Deno.test("audio: transcript stream for a client: a failure", () => {
  const error = new GatewayError("upstream_timeout", "The upstream ran out of time");
  assertEquals(written("json", [{ type: "error", error }]), [
    ["error", {
      error: { message: "The upstream ran out of time", type: "server_error", param: null, code: "upstream_timeout" },
    }],
  ]);
});

/** The answer of transformers serve 5.19, its model being random. */
const PLAIN = `${"data: is\n\n".repeat(7)}${"data: E\n\n".repeat(5)}`;

Deno.test("audio: plain texts, as transformers sends them, end with the body", async () => {
  const events = await read([encode(PLAIN)]);
  assertEquals(
    events.slice(0, -1).map((event) => event.type === "delta" && event.text).join(""),
    "isisisisisisisEEEEE",
  );
  assertEquals(events.at(-1), { type: "finish", transcript: { text: "isisisisisisisEEEEE" } });
});

Deno.test("audio: plain texts keep their spaces, whatever else they look like", async () => {
  const pieces = [" 7", " is", "  ", "{", " more", "\ttab"];
  const bytes = encode(pieces.map((piece) => `data: ${piece}\n\n`).join(""));
  for (let cut = 1; cut < bytes.length; cut++) {
    const events = await read([bytes.slice(0, cut), bytes.slice(cut)]);
    const finish = { type: "finish" as const, transcript: { text: pieces.join("").trim() } };
    assertEquals(events, [...pieces.map((text) => ({ type: "delta" as const, text })), finish]);
  }
});

Deno.test("audio: bare texts, as releases of Speaches send them, end with the body", async () => {
  const pieces = sse({ text: "Hello" }, { text: " wörld" });
  assertEquals(await read([encode(pieces)]), [...HELLO, { type: "finish", transcript: { text: "Hello wörld" } }]);
});
