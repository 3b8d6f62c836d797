import type { CompleteRequest } from "../../src/canonical/complete.ts";
import { fieldsFor, splitInside } from "../../src/canonical/extra.ts";
import { asObject, copyRenamed, type JsonObject } from "../../src/canonical/json.ts";
import { SAMPLING_PARAMETERS } from "../../src/canonical/sampling.ts";
import type { Call } from "../../src/contract/call.ts";
import { CHAT_SAMPLING, OLLAMA_SAMPLING } from "../shared/sampling.ts";
import { chatRequestOf } from "./over_chat.ts";
import { familyOf, type Gap, readGap, writeGap } from "./families.ts";
import {
  echoesNatively,
  isOneCall,
  noteRefused,
  type Place,
  setupOf,
  stopsFor,
  type Way,
  wayOf,
  writesMarks,
} from "./ways.ts";
import { WIRE } from "./wire.ts";

/** The calls for a request. There are several if the server makes one completion at a time. */
export function serializeRequest(input: CompleteRequest, place: Place): Call | Call[] {
  const way = wayOf(input, place);
  if (isOneCall(input, way, setupOf(place))) return completionsCall(input, place);
  const { count = 1, prompts } = input;
  const calls = prompts.flatMap((prompt) => {
    if (way === "completions") return completionsCall({ ...input, prompts: [prompt], count: undefined }, place);
    return singleCall(way, input, gapOf(prompt as string, input), place);
  });
  return count === 1 ? calls : calls.flatMap((call) => new Array<Call>(count).fill(call));
}

/** A prompt that its client wrote with the marks of a model is read, because these servers write their own. */
function gapOf(prompt: string, { suffix, files, begin }: CompleteRequest): Gap {
  const read = suffix === undefined ? readGap(prompt) : undefined;
  return { prompt, suffix, ...read, files, begin };
}

/** The server's own limit, if none is set. 0 is asked of servers only where they know it. */
function limitOf({ maxOutputTokens }: CompleteRequest, takesNone: boolean): number | undefined {
  return maxOutputTokens === 0 && !takesNone ? 1 : maxOutputTokens;
}

function completionsCall(input: CompleteRequest, place: Place): Call {
  const setup = setupOf(place);
  const { target, context } = place;
  const { prompts, suffix, stream, count, bestOf, echo, logprobs, seed } = input;
  const isMarked = writesMarks(input, place);
  const family = isMarked ? familyOf(target)! : undefined;
  if (isMarked) noteRefused(input, place);
  const written = family ? prompts.map((one) => writeGap({ ...input, prompt: one as string }, family)) : prompts;
  const repeats = echo && !isMarked && echoesNatively("completions", setup);
  const { sent } = stopsFor(input, place);
  const body: JsonObject = {
    model: target.model,
    prompt: written.length === 1 ? written[0]! : written,
    suffix: family ? undefined : suffix,
    max_tokens: limitOf(input, Boolean(repeats)),
    ...copyRenamed(input, CHAT_SAMPLING.serialized),
    n: count,
    best_of: bestOf,
    echo: repeats || undefined,
    logprobs,
    stop: sent.length > 0 ? sent : undefined,
    seed,
    ...fieldsFor(WIRE, input.extra, context.note),
  };
  if (stream) Object.assign(body, { stream: true, stream_options: { include_usage: true } });
  return { path: setup === "beta" ? "beta/completions" : "completions", body };
}

function singleCall(way: Exclude<Way, "completions">, input: CompleteRequest, gap: Gap, place: Place): Call {
  switch (way) {
    case "fim":
      return fimCall(input, gap, place);
    case "infill":
      return infillCall(input, gap, place);
    case "generate":
      return generateCall(input, gap, place);
    case "chat":
      return chatCall(input, gap, place);
    default:
      return way satisfies never;
  }
}

/** A conversation. Fields that its wire does not have are noted. */
function chatCall(input: CompleteRequest, gap: Gap, place: Place): Call {
  const call = [place.chat!.request(chatRequestOf(input, gap, place), place.target, place.context)].flat()[0]!;
  const body = asObject(call.body);
  for (const [name, field] of Object.entries({ ...SAMPLING_PARAMETERS, seed: "seed" })) {
    if (name in input && !(field in body)) place.context.note(`dropped ${field}`);
  }
  return call;
}

/** Mistral's wire has no field for these. */
const LACKED = [
  ["topK", "top_k"],
  ["presencePenalty", "presence_penalty"],
  ["frequencyPenalty", "frequency_penalty"],
] as const;

/** Mistral's wire, whose servers take a prompt with or without a suffix. */
function fimCall(input: CompleteRequest, { prompt, suffix, files = [], begin = "" }: Gap, place: Place): Call {
  const { target, context } = place;
  const others = files.map(({ name = "file", text }) => `+++++ ${name}\n${text}\n`).join("");
  const { sent } = stopsFor(input, place);
  for (const [name, field] of LACKED) if (input[name] !== undefined) context.note(`dropped ${field}`);
  return {
    path: "fim/completions",
    body: {
      model: target.model,
      // The wire has no beginning of the gap: it becomes the end of what is before it.
      prompt: `${others}${prompt}${begin}`,
      suffix,
      max_tokens: limitOf(input, false),
      temperature: input.temperature,
      top_p: input.topP,
      random_seed: input.seed,
      stop: sent.length > 0 ? sent : undefined,
      ...(input.stream && { stream: true }),
      ...fieldsFor("fim", input.extra, context.note),
    },
  };
}

/** llama.cpp's wire, which is beside the paths of the chat wire. It takes any number of stops. */
function infillCall(input: CompleteRequest, { prompt, suffix = "", files, begin }: Gap, place: Place): Call {
  const { sent } = stopsFor(input, place);
  return {
    path: "../infill",
    body: {
      model: place.target.model,
      input_prefix: prompt,
      input_suffix: suffix,
      input_extra: files?.map(({ name, text }) => ({ filename: name, text })),
      prompt: begin,
      n_predict: input.maxOutputTokens,
      ...copyRenamed(input, CHAT_SAMPLING.serialized),
      seed: input.seed,
      stop: sent.length > 0 ? sent : undefined,
      ...(input.stream && { stream: true }),
      ...fieldsFor("infill", input.extra, place.context.note),
    },
  };
}

/** Ollama's wire. A gap that its field cannot express is written with the marks of the model's family. */
function generateCall(input: CompleteRequest, gap: Gap, place: Place): Call {
  const { target, context } = place;
  const family = writesMarks(input, place) ? familyOf(target) : undefined;
  if (family) noteRefused(input, place);
  const { sent } = stopsFor(input, place);
  const isRaw = family !== undefined || gap.suffix === undefined;
  const { inner, outer } = splitInside("options", fieldsFor("ollama", input.extra, context.note));
  return {
    path: "../api/generate",
    body: {
      model: target.model,
      prompt: family ? writeGap(gap, family) : gap.prompt + (gap.begin ?? ""),
      ...(isRaw ? { raw: true } : { suffix: gap.suffix }),
      stream: input.stream,
      options: {
        num_predict: limitOf(input, false),
        ...copyRenamed(input, OLLAMA_SAMPLING.serialized),
        stop: sent.length > 0 ? sent : undefined,
        ...inner,
      },
      ...outer,
    },
  };
}
