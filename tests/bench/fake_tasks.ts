/** The fake upstream's answers to what is not chat: vectors, sound, and what was said in a file. */

/** As many inputs as the embeddings wire takes, and vectors of a usual width. */
export const INPUTS = 2_048;
const WIDTH = 1_024;
/** As many as the hub's own engine takes in one call. */
const BATCH = 32;
/** Files that are transcribed at once: none is answered before all are there. */
export const UPLOADS = 8;

/** Numbers as servers write them: 32-bit floats with all the digits of a double. Whole bodies, made once. */
const VECTORS = Array.from(
  { length: INPUTS },
  (_, input) => Float32Array.from({ length: WIDTH }, (_, at) => Math.sin(input * 12.9898 + at * 78.233) / 16),
);
const bodies = new Map<string, Uint8Array<ArrayBuffer>>();

interface EmbeddingsRequest {
  input: string[];
  encoding_format?: "float" | "base64";
}

/** `POST /v1/embeddings` */
export async function embeddings(request: Request): Promise<Response> {
  const { input, encoding_format = "float" }: EmbeddingsRequest = await request.json();
  if (input.length !== INPUTS) return new Response(`Expected ${INPUTS} inputs`, { status: 400 });
  return once(encoding_format, () => ({
    object: "list",
    data: VECTORS.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: encoding_format === "base64" ? new Uint8Array(vector.buffer).toBase64() : [...vector],
    })),
    model: "bench",
    usage: { prompt_tokens: 40_000, total_tokens: 40_000 },
  }));
}

/** `POST /hub/models/bench/pipeline/feature-extraction`: the vectors of one batch, alone. Each text begins with its number. */
export async function features(request: Request): Promise<Response> {
  const { inputs }: { inputs: string[] } = await request.json();
  if (inputs.length !== BATCH) return new Response(`Expected ${BATCH} inputs`, { status: 400 });
  const first = parseInt(inputs[0]!);
  return once(`from ${first}`, () => VECTORS.slice(first, first + BATCH).map((vector) => [...vector]));
}

function once(name: string, make: () => unknown): Response {
  const body = bodies.get(name) ?? new TextEncoder().encode(JSON.stringify(make()));
  bodies.set(name, body);
  return new Response(body, { headers: { "content-type": "application/json" } });
}

const SOUND_PIECES = 16;
const SOUND = new Uint8Array(4_096);
SOUND.set(new TextEncoder().encode("ID3"));

/** `POST /v1/audio/speech`: 64 kB, piece by piece. */
export function speech(): Response {
  let left = SOUND_PIECES;
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(SOUND);
      if (--left === 0) controller.close();
    },
  }, { highWaterMark: 1 });
  return new Response(body, { headers: { "content-type": "audio/mpeg" } });
}

const WORDS = 16;

/** `POST /v1/completions`: a word at a time, each as one write. */
export function completions(): Response {
  let left = WORDS;
  const piece = (text: string, finish_reason: string | null) =>
    `data: ${JSON.stringify({ object: "text_completion", choices: [{ index: 0, text, finish_reason }] })}\n\n`;
  const body = new ReadableStream<string>({
    pull(controller) {
      if (left-- > 0) return controller.enqueue(piece(" la", null));
      controller.enqueue(`${piece("", "length")}data: [DONE]\n\n`);
      controller.close();
    },
  }, { highWaterMark: 1 });
  return new Response(body.pipeThrough(new TextEncoderStream()), { headers: { "content-type": "text/event-stream" } });
}

let waiting: PromiseWithResolvers<void>[] = [];

/** `POST /v1/audio/transcriptions` and `POST /fal/bench`: says how many bytes came, once so many requests wait. */
export async function transcription(request: Request): Promise<Response> {
  let bytes = 0;
  for await (const piece of request.body!) bytes += piece.length;
  const turn = Promise.withResolvers<void>();
  waiting.push(turn);
  if (waiting.length === UPLOADS) {
    for (const { resolve } of waiting) resolve();
    waiting = [];
  }
  await turn.promise;
  return Response.json({ text: `bytes=${bytes}` });
}
