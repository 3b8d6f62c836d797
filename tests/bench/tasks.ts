/** What the tasks beside chat cost: large lists of vectors, and sound that is passed on as it comes. */
import { postBytes } from "./client.ts";
import { INPUTS } from "./fake_tasks.ts";
import { type Figures, quantile } from "./figures.ts";
import { repeat, type Size } from "./measure.ts";

/** Who is asked: the upstream itself, or the server in front of it. */
export const TASK_SUBJECTS = ["direct", "passthrough", "laneway"] as const;
export type TaskSubject = typeof TASK_SUBJECTS[number];

export type TaskMeasure = (subject: TaskSubject, origin: string, size: Size) => Promise<Figures>;

/** Each begins with its number. */
const TEXTS = Array.from({ length: INPUTS }, (_, at) => `${at} what a passage of a document says `.repeat(4));

const VECTORS = {
  embedFloat: { model: "embedding", encoding: "float" },
  embedBase64: { model: "embedding", encoding: "base64" },
  /** Only Laneway makes them out of batches. */
  embedBatches: { model: "hub-embedding", encoding: "float" },
} as const;
type Kind = keyof typeof VECTORS;
const KINDS = Object.keys(VECTORS) as Kind[];

const vectors = KINDS.map((kind): TaskMeasure => async (subject, origin, size) => {
  const request = postBytes(origin + pathOf(subject, "embeddings"), vectorsBody(kind));
  const times = (await repeat(origin, request, size.vectors)).map((answer) => answer.totalMs);
  return { [kind]: quantile(times, 0.5) };
});

const sound: TaskMeasure = async (subject, origin, size) => {
  const body = { model: "speech", input: "A short sentence to read aloud.", voice: "alloy", response_format: "mp3" };
  const request = postBytes(origin + pathOf(subject, "audio/speech"), body);
  const times = (await repeat(origin, request, size.sounds)).map((answer) => answer.firstByteMs);
  return { soundP50: quantile(times, 0.5), soundP99: quantile(times, 0.99) };
};

/** Taken of all subjects in turn, round after round. */
export const TASK_MEASURES: readonly TaskMeasure[] = [...vectors, sound];

/** The upstream's own answers. Throws unless the passthrough and Laneway give the same vectors, which also warms them up. */
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
export function measureJson(answers: Record<Kind, string>, size: Size): Figures {
  return Object.fromEntries(KINDS.map((kind) => {
    const times = Array.from({ length: size.vectors }, () => {
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
  return subject === "laneway" ? `/oss/v1/${endpoint}` : `/v1/${endpoint}`;
}

function vectorsBody(kind: Kind): unknown {
  const { model, encoding } = VECTORS[kind];
  return { model, input: TEXTS, encoding_format: encoding };
}
