/** What becomes of each field that clients and upstreams of conversations are known to send. */
import type { JsonObject } from "../../../src/canonical/json.ts";
import type { Exchange, Fidelity, FidelityRequest, FidelityRow } from "../../../src/contract/fidelity.ts";
import { ANSWERS } from "./answers.ts";
import { type Client, CLIENTS, type Sample, UPSTREAM_WIRES, type UpstreamWire } from "./sample.ts";
import { answerTo } from "./upstreams.ts";
import { type FieldTrace, NotTaken, type Verdict, verdictOn, verdictOnAnswer } from "./verdict.ts";
import { CHAT_REQUESTS } from "./chat_requests.ts";
import { GEMINI_REQUESTS } from "./gemini_requests.ts";
import { MESSAGES_REQUESTS } from "./messages_requests.ts";
import { OLLAMA_REQUESTS } from "./ollama_requests.ts";
import { RESPONSES_REQUESTS } from "./responses_requests.ts";

const PATHS: Record<Exclude<Client, "gemini">, string> = {
  chat: "v1/chat/completions",
  messages: "v1/messages",
  responses: "v1/responses",
  ollama: "api/chat",
};

/** What clients of the wire always send. */
const HEADERS: Partial<Record<Client, Record<string, string>>> = { messages: { "anthropic-version": "2023-06-01" } };

export const fidelity: Fidelity = {
  clients: CLIENTS,
  request: (client, place, body) => requestOf(client as Client, place, body),
  answer: (wire, asked) => isKnown(wire) ? answerTo(wire, asked) : undefined,
  rows: (client, wire, exchange) => ({
    requests: judged(REQUESTS[client as Client], (sample) => verdictOn(sample, client as Client, exchange)),
    answers: isKnown(wire) ? answersOf(wire, client as Client, exchange) : judged([], () => Promise.reject()),
  }),
};

function isKnown(wire: string): wire is UpstreamWire {
  return UPSTREAM_WIRES.some((one) => one === wire);
}

export function requestOf(
  client: Client,
  { lane, model }: { lane: string; model: string },
  body: JsonObject,
): FidelityRequest {
  const headers = HEADERS[client] ?? {};
  if (client === "gemini") return { path: `/${lane}/v1beta/models/${model}:generateContent`, headers, body };
  return { path: `/${lane}/${PATHS[client]}`, headers, body: { model, ...body } };
}

function answersOf(wire: UpstreamWire, client: Client, exchange: Exchange): AsyncIterable<FidelityRow> {
  return judged(ANSWERS[wire], (sample) => verdictOnAnswer(sample, wire, client, exchange));
}

async function* judged(
  samples: readonly Sample[],
  judge: (sample: Sample) => Promise<Verdict>,
): AsyncGenerator<FidelityRow> {
  for (const sample of samples) {
    yield { field: sample.field, ...await inShort(judge(sample)) };
  }
}

/** What a field is in, a model may refuse as such: a picture, for one. */
async function inShort(judged: Promise<Verdict>): Promise<Omit<FidelityRow, "field">> {
  try {
    const verdict = await judged;
    // A model that takes no pictures refuses each of them in the same words, whatever they are called.
    const refusal = verdict.is === "silent" ? /^4\d\d (.+)/.exec(verdict.lost)?.[1] : undefined;
    if (refusal !== undefined) return { is: "refused", words: `refused: ${refusal}` };
    return { is: verdict.is, words: inWords(verdict) };
  } catch (error) {
    if (!(error instanceof NotTaken)) throw error;
    return { is: "refused", words: "refused, without it too" };
  }
}

/** The fields of requests, by the client's wire. */
export const REQUESTS: Record<Client, readonly Sample[]> = {
  messages: MESSAGES_REQUESTS,
  chat: CHAT_REQUESTS,
  responses: RESPONSES_REQUESTS,
  ollama: OLLAMA_REQUESTS,
  gemini: GEMINI_REQUESTS,
};

/** More places than these say no more. */
const MOST_PLACES = 3;

function inPlaces(places: readonly FieldTrace[]): string {
  const kept = places.filter(({ gone }) => !gone).map(({ name }) => name);
  const gone = places.filter(({ gone }) => gone).map(({ name }) => `without ${name}`);
  const shown = [...kept.length > 0 ? [`as ${kept[0]}`, ...kept.slice(1)] : [], ...gone];
  return (shown.length > MOST_PLACES ? [...shown.slice(0, MOST_PLACES), "…"] : shown).join(", ");
}

/** As the tables have it, in Markdown. */
export function inWords(verdict: Verdict): string {
  switch (verdict.is) {
    case "carried":
      return verdict.notes.length > 0 ? "carried, noted" : "carried";
    case "mapped":
      return inPlaces(verdict.to) + (verdict.notes.length > 0 ? "; noted" : "");
    case "dropped":
    case "refused":
    case "failed":
    case "answered":
      return verdict.is;
    case "idle":
      return "–";
    case "silent":
      return "**lost**";
    default:
      return verdict satisfies never;
  }
}
