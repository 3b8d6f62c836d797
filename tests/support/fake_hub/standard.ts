/** The providers with the standard wires, behind the router: together, deepinfra and scaleway. */
import { bodyOf, piecesOf as cut } from "../chunks.ts";
import { describeForm, formOf, type HubAsked, jsonOf } from "./asked.ts";
import { durationOf, hear, piecesOf, SOUNDS, translate } from "./sounds.ts";
import { countTokens, embed } from "./texts.ts";

interface Provider {
  path: string;
  routes: readonly string[];
  /** The most texts that one call may hold. */
  mostInputs: number;
  /** Which formats of speech it makes, by its word for each; the first one where none is asked for. */
  formats: Readonly<Record<string, string>>;
}

export const STANDARD: Readonly<Record<string, Provider>> = {
  together: {
    path: "/together/v1/",
    routes: ["embeddings", "audio/speech", "audio/transcriptions", "audio/translations"],
    mostInputs: 2048,
    formats: { wav: "wav", mp3: "mp3", raw: "pcm" },
  },
  deepinfra: {
    path: "/deepinfra/v1/openai/",
    routes: ["embeddings", "audio/speech", "audio/transcriptions"],
    mostInputs: 1024,
    formats: { mp3: "mp3", opus: "opus", flac: "flac", wav: "wav", pcm: "pcm" },
  },
  scaleway: { path: "/scaleway/v1/", routes: ["embeddings"], mostInputs: 2048, formats: {} },
};

/** `runs` tells whether the provider has a model, by its own name for it. */
export async function answerStandard(
  asked: HubAsked,
  name: string,
  runs: (provider: string, model: string) => boolean,
): Promise<Response> {
  const provider = STANDARD[name]!;
  const route = asked.url.pathname.slice(provider.path.length);
  if (asked.method !== "POST" || !provider.routes.includes(route)) return fail(404, "Not Found");
  const isForm = route === "audio/transcriptions" || route === "audio/translations";
  const form = isForm ? await formOf(asked).catch(() => undefined) : undefined;
  if (isForm && !form) return fail(400, "Expected a multipart form");
  const model = form ? form.get("model") : jsonOf(asked).model;
  if (typeof model !== "string" || !runs(name, model)) {
    return Response.json({ error: `Model not supported by provider ${name}` }, { status: 400 });
  }
  if (form) return transcribe(form, route === "audio/translations");
  return route === "embeddings" ? embedTexts(asked, provider, name) : speak(asked, provider, name);
}

function fail(status: number, message: string, param: string | null = null): Response {
  return Response.json({ error: { message, type: "invalid_request_error", param, code: null } }, { status });
}

/** One of them gives numbers whatever is asked for, and one gives the vectors in another order. */
function embedTexts(asked: HubAsked, { mostInputs }: Provider, name: string): Response {
  const { input, model, encoding_format, dimensions } = jsonOf(asked);
  const inputs: unknown[] = Array.isArray(input) && typeof input[0] !== "number" ? input : [input];
  if (inputs.length > mostInputs) {
    const detail = [{ loc: ["body", "input"], msg: `List should have at most ${mostInputs} items`, type: "too_long" }];
    return Response.json({ detail }, { status: 422 });
  }
  const texts = inputs.map((one) => typeof one === "string" ? one : String(one));
  const data = texts.map((text, index) => {
    const vector = embed(text, typeof dimensions === "number" ? dimensions : undefined);
    const isBytes = encoding_format === "base64" && name !== "together";
    const embedding = isBytes ? new Uint8Array(new Float32Array(vector).buffer).toBase64() : vector;
    return { object: "embedding", index, embedding };
  });
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return Response.json({ object: "list", data: name === "scaleway" ? data.reverse() : data, model, usage });
}

/** Sent in pieces, as it is made. */
function speak(asked: HubAsked, { formats }: Provider, name: string): Response {
  const { input, voice, response_format = Object.keys(formats)[0] } = jsonOf(asked);
  if (typeof input !== "string" || input === "") return fail(400, "input is required", "input");
  if (name === "together" && typeof voice !== "string") return fail(400, "voice is required", "voice");
  const format = Object.hasOwn(formats, String(response_format)) ? formats[String(response_format)] : undefined;
  if (format === undefined) return fail(400, `Unsupported response_format "${response_format}"`, "response_format");
  const { mediaType, speak } = SOUNDS[format]!;
  return new Response(bodyOf(cut(speak(input), 16 * 1024)), { headers: { "content-type": mediaType } });
}

/** The answer says what the form held, in `received`. */
async function transcribe(form: FormData, toEnglish: boolean): Promise<Response> {
  const file = form.get("file");
  if (!(file instanceof File)) return fail(400, "file is required", "file");
  const said = hear(await file.bytes());
  const text = toEnglish ? translate(said) : said;
  const received = describeForm(form);
  const format = form.get("response_format") ?? "json";
  if (format === "text") return new Response(`${text}\n`, { headers: { "content-type": "text/plain" } });
  if (format === "json") return Response.json({ text, received });
  if (format !== "verbose_json") return fail(400, `Unsupported response_format "${format}"`, "response_format");
  const segments = piecesOf(text, "sentence").map((piece, id) => ({ id, ...piece, text: ` ${piece.text}` }));
  const words = piecesOf(text, "word").map(({ text, ...times }) => ({ word: text, ...times }));
  return Response.json({
    task: toEnglish ? "translate" : "transcribe",
    language: form.get("language") ?? "en",
    duration: durationOf(text),
    text,
    segments,
    ...(form.getAll("timestamp_granularities[]").includes("word") && { words }),
    received,
  });
}
