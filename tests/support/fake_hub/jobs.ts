/** The providers whose answer is a job or a file elsewhere, behind the router: fal-ai and replicate; and their media hosts. */
import { HOSTS, type HubAsked, jsonOf } from "./asked.ts";
import { drawAtFal, drawAtReplicate } from "./pictures.ts";
import { hear, piecesOf, SOUNDS, translate } from "./sounds.ts";

/** The results that wait to be fetched. */
export interface Jobs {
  /** Files by URL: sounds and pictures. */
  files: Map<string, Uint8Array<ArrayBuffer>>;
  predictions: Map<string, { polls: number; result: Record<string, unknown> }>;
}

export function newJobs(): Jobs {
  return { files: new Map(), predictions: new Map() };
}

/** Keeps a file with this speech on a media host and gives its URL. */
function keep(jobs: Jobs, host: string, text: string): string {
  const url = `https://${host}/files/${jobs.files.size + 1}/speech.wav`;
  jobs.files.set(url, SOUNDS.wav!.speak(text));
  return url;
}

/** Files are for all who know the URL; a credential has no business here. */
export function answerMedia({ method, url, headers }: HubAsked, jobs: Jobs): Response {
  if (headers.has("authorization")) return Response.json({ error: "Unexpected credential" }, { status: 400 });
  const file = method === "GET" ? jobs.files.get(url.href) : undefined;
  return file
    ? new Response(file, { headers: { "content-type": url.pathname.endsWith(".png") ? "image/png" : "audio/wav" } })
    : Response.json({ detail: "Not Found" }, { status: 404 });
}

/** Kinds of sound that fal-ai takes, by what comes after the slash. */
const TAKEN = ["mpeg", "mp3", "mp4", "m4a", "x-m4a", "wav", "x-wav", "webm"];

export function answerFal(asked: HubAsked, jobs: Jobs, runs: (provider: string, model: string) => boolean): Response {
  const model = asked.url.pathname.slice("/fal-ai/".length);
  const isKnown = runs("fal-ai", model) || model.includes("/requests/");
  const drawn = isKnown && drawAtFal(asked, jobs);
  if (drawn) return drawn;
  if (asked.method !== "POST" || !isKnown) return Response.json({ detail: "Not Found" }, { status: 404 });
  const { prompt, audio_url, task, chunk_level } = jsonOf(asked);
  const invalid = (field: string, msg: string) =>
    Response.json({ detail: [{ loc: ["body", field], msg, type: "value_error" }] }, { status: 422 });
  if (!model.includes("whisper")) {
    // It reads `prompt` alone, which may be absent: then it says nothing.
    const url = keep(jobs, HOSTS.fal, typeof prompt === "string" ? prompt : "");
    return Response.json({ audio: { url, content_type: "audio/wav", file_name: "speech.wav" } });
  }
  const [, kind, data] = /^data:audio\/([a-z0-9-]+)[^,]*;base64,(.*)$/s.exec(String(audio_url)) ?? [];
  if (data === undefined) return invalid("audio_url", "Expected a data URL of sound");
  if (!TAKEN.includes(kind!)) return invalid("audio_url", `Unsupported audio format ${kind}`);
  const said = hear(Uint8Array.fromBase64(data));
  const text = task === "translate" ? translate(said) : said;
  const pieces = chunk_level === "none" ? [] : piecesOf(text, chunk_level === "word" ? "word" : "sentence");
  const chunks = pieces.map((piece) => ({ timestamp: [piece.start, piece.end], text: piece.text, speaker: null }));
  return Response.json({ text, chunks, inferred_languages: ["en"], diarization_segments: [] });
}

/** How often a prediction is still being worked on when it is asked for. */
const POLLS = 1;

export function answerReplicate(
  asked: HubAsked,
  jobs: Jobs,
  runs: (provider: string, model: string) => boolean,
): Response {
  const { method, url } = asked;
  const path = url.pathname.slice("/replicate/v1/".length);
  const describe = (id: string, more: object) => {
    const get = `https://api.replicate.com/v1/predictions/${id}`;
    return Response.json({ id, error: null, logs: "", urls: { get, cancel: `${get}/cancel` }, ...more });
  };
  if (method === "GET") {
    const id = path.slice("predictions/".length);
    const job = jobs.predictions.get(id);
    if (!job) {
      return Response.json({ detail: "The requested resource could not be found.", status: 404 }, { status: 404 });
    }
    return describe(id, job.polls++ < POLLS ? { status: "processing", output: null } : job.result);
  }
  const { version, input = {} } = jsonOf(asked) as { version?: string; input?: Record<string, unknown> };
  const [, named] = /^models\/(.+)\/predictions$/.exec(path) ?? [];
  const model = named ?? version ?? "";
  if (method !== "POST" || !runs("replicate", model)) {
    return Response.json({ title: "Invalid version or not permitted", status: 422 }, { status: 422 });
  }
  const id = `prediction-${jobs.predictions.size + 1}`;
  jobs.predictions.set(id, { polls: 0, result: work(input, jobs) });
  return describe(id, { status: "starting", output: null });
}

function work(input: Record<string, unknown>, jobs: Jobs): Record<string, unknown> {
  const drawn = drawAtReplicate(input, jobs);
  if (drawn) return drawn;
  if (typeof input.text === "string") {
    return { status: "succeeded", output: keep(jobs, HOSTS.replicate, input.text) };
  }
  const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(String(input.audio)) ?? [];
  if (data === undefined) return { status: "failed", error: "Cannot read the audio", output: null };
  const said = hear(Uint8Array.fromBase64(data));
  return {
    status: "succeeded",
    output: {
      detected_language: "english",
      transcription: said,
      translation: input.translate ? translate(said) : null,
      segments: piecesOf(said, "sentence").map((piece, id) => ({ id, ...piece })),
      txt_file: null,
    },
  };
}
