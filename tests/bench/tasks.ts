/** What the tasks beside chat cost: large lists of vectors, and sound that is passed on as it comes. */
import { type Answer, Connection, postBytes } from "./client.ts";
import { INPUTS } from "./fake_tasks.ts";
import { type Figure, quantile, type Values } from "./table.ts";

/** Who is asked: the upstream itself, or the server in front of it. */
export const TASK_SUBJECTS = ["direct", "bare", "Laneway"] as const;
export type TaskSubject = typeof TASK_SUBJECTS[number];

export const TASK_FIGURES: Record<string, Figure> = {
  embedFloat: { label: "2,048 × 1,024 embeddings, float", unit: "ms", digits: 0, beside: "more" },
  embedBase64: { label: "2,048 × 1,024 embeddings, base64", unit: "ms", digits: 0, beside: "more" },
  embedBatches: { label: "2,048 × 1,024 embeddings, float, from 64 calls", unit: "ms", digits: 0, beside: "more" },
  turnP50: { label: "first token of a streamed turn, p50", unit: "ms", digits: 2, beside: "more" },
  completionP50: { label: "first token of a streamed completion, p50", unit: "ms", digits: 2, beside: "more" },
  soundP50: { label: "first byte of streamed speech, p50", unit: "ms", digits: 2, beside: "more" },
};

/** Each begins with its number. */
const TEXTS = Array.from({ length: INPUTS }, (_, at) => `${at} what a passage of a document says `.repeat(4));

const VECTOR_ANSWERS = 3;
const SOUNDS = 150;
const STREAMS = 300;

/** A turn and a completion whose answers are equally long. */
const STREAMED = {
  turnP50: { endpoint: "chat/completions", body: { messages: [{ role: "user", content: "chunks=16" }] } },
  completionP50: { endpoint: "completions", body: { prompt: "chunks=16" } },
} as const;

const VECTORS = {
  embedFloat: { model: "embedding", encoding: "float" },
  embedBase64: { model: "embedding", encoding: "base64" },
  /** Only Laneway makes them out of batches. */
  embedBatches: { model: "hub-embedding", encoding: "float" },
} as const;
type Kind = keyof typeof VECTORS;
const KINDS = Object.keys(VECTORS) as Kind[];

/** Vectors of each kind, and sounds, some of each. */
export async function measureTasks(subject: TaskSubject, origin: string): Promise<Values> {
  const values: Values = {};
  for (const kind of KINDS) {
    const request = postBytes(origin + pathOf(subject, "embeddings"), vectorsBody(kind));
    values[kind] = quantile((await repeat(origin, request, VECTOR_ANSWERS)).map(({ totalMs }) => totalMs), 0.5);
  }
  for (const [name, { endpoint, body }] of Object.entries(STREAMED)) {
    const request = postBytes(origin + pathOf(subject, endpoint), { model: "bench", stream: true, ...body });
    await repeat(origin, request, STREAMS / 3);
    values[name] = quantile((await repeat(origin, request, STREAMS)).map(({ firstByteMs }) => firstByteMs), 0.5);
  }
  const body = { model: "speech", input: "A short sentence to read aloud.", voice: "alloy", response_format: "mp3" };
  const request = postBytes(origin + pathOf(subject, "audio/speech"), body);
  values.soundP50 = quantile((await repeat(origin, request, SOUNDS)).map(({ firstByteMs }) => firstByteMs), 0.5);
  return values;
}

async function repeat(origin: string, request: Uint8Array, count: number): Promise<Answer[]> {
  const connection = await Connection.open(origin);
  try {
    const answers: Answer[] = [];
    while (answers.length < count) answers.push(await connection.ask(request));
    return answers;
  } finally {
    connection.close();
  }
}

/** The upstream's own answers. Throws unless the bare passthrough and Laneway give the same vectors, which also warms them up. */
export async function askForVectors(origins: Record<TaskSubject, string>): Promise<Record<Kind, string>> {
  const answers = {} as Record<Kind, string>;
  for (const kind of KINDS) {
    const [direct, ...others] = await Promise.all(TASK_SUBJECTS.map((subject) => ask(subject, origins[subject], kind)));
    const wrong = others.find((other) => dataOf(other) !== dataOf(direct!));
    if (wrong !== undefined) throw new Error(`Vectors of "${kind}" are not the upstream's: ${wrong.slice(0, 300)}`);
    answers[kind] = direct!;
  }
  return answers;
}

/** The least that a gateway spends which looks into an answer: its JSON, parsed and written again. */
export function measureJson(answers: Record<Kind, string>): Values {
  return Object.fromEntries(KINDS.map((kind) => {
    const times = Array.from({ length: VECTOR_ANSWERS }, () => {
      const started = performance.now();
      JSON.stringify(JSON.parse(answers[kind]));
      return performance.now() - started;
    });
    return [kind, quantile(times, 0.5)];
  }));
}

async function ask(subject: TaskSubject, origin: string, kind: Kind): Promise<string> {
  const response = await fetch(origin + pathOf(subject, "embeddings"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(vectorsBody(kind)),
  });
  return await response.text();
}

function dataOf(answer: string): string {
  return JSON.stringify(JSON.parse(answer).data);
}

function pathOf(subject: TaskSubject, endpoint: string): string {
  return subject === "Laneway" ? `/oss/v1/${endpoint}` : `/v1/${endpoint}`;
}

function vectorsBody(kind: Kind): unknown {
  const { model, encoding } = VECTORS[kind];
  return { model, input: TEXTS, encoding_format: encoding };
}
