/** What the scripted upstreams answer: recorded answers, and all the ways to fail. */
import { Buffer } from "node:buffer";
import { answerBytes, type Fixture, isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { UPSTREAM_WIRES, type UpstreamWire } from "./gateways.ts";
import type { Random } from "./random.ts";
import type { Call, Play } from "./upstream.ts";

export const FIXTURES = Object.fromEntries(
  [...UPSTREAM_WIRES, "embeddings", "rerank"].map((wire) => [wire, loadFixtures(wire)]),
) as Record<UpstreamWire | "embeddings" | "rerank", Fixture[]>;

const STREAMS = recorded((fixture) => isStream(fixture));
const WHOLES = recorded((fixture) => isOk(fixture) && !isStream(fixture));

function recorded(fits: (fixture: Fixture) => boolean): Record<string, Fixture[]> {
  return Object.fromEntries(Object.entries(FIXTURES).map(([wire, fixtures]) => [wire, fixtures.filter(fits)]));
}

export function jsonPlay(value: unknown, status = 200, headers: Record<string, string> = {}): Play {
  const body = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  return { status, headers: { "content-type": "application/json", ...headers }, body, ending: "end" };
}

export function streamPlay(text: string): Play {
  return { status: 200, headers: { "content-type": "text/event-stream" }, body: Buffer.from(text), ending: "end" };
}

/** The answer of a fixture, as its server sent it. */
export function playOf(fixture: Fixture): Play {
  const { "content-length": _length, "transfer-encoding": _encoding, ...headers } = fixture.response.headers;
  return { status: fixture.response.status, headers, body: Buffer.from(answerBytes(fixture)), ending: "end" };
}

const SOUND = Buffer.from(`ID3\x04${"\0".repeat(200)}`, "latin1");
const TRANSCRIPT = {
  text: "Hello",
  language: "en",
  duration: 1.5,
  segments: [{ id: 0, start: 0, end: 1.5, text: "Hello" }],
};

/** An answer that fits the call: for a conversation one of the recorded ones. */
export function goodAnswer({ head, body }: Call, random: Random): Play {
  const path = head.split(" ")[1]!;
  if (path.endsWith("tokens")) return jsonPlay({ input_tokens: 7, object: "response.input_tokens" });
  if (path.endsWith("/embed")) return jsonPlay([[0.1, 0.2], [0.3, 0.4]]);
  if (path.includes("/tei/rerank")) return jsonPlay([{ index: 0, score: 0.5 }, { index: 1, score: 0.1 }]);
  if (path.endsWith("/speech")) return { ...jsonPlay(""), headers: { "content-type": "audio/mpeg" }, body: SOUND };
  if (/transcriptions|translations/.test(path)) return jsonPlay(TRANSCRIPT);
  const wire = wireOf(path);
  const isStreamed = body.includes('"stream":true');
  return playOf(random.pick((isStreamed && STREAMS[wire]!.length > 0 ? STREAMS : WHOLES)[wire]!));
}

function wireOf(path: string): keyof typeof FIXTURES {
  if (path.endsWith("/messages")) return "messages";
  if (path.endsWith("/responses")) return "responses";
  return path.endsWith("embeddings") ? "embeddings" : path.endsWith("rerank") ? "rerank" : "chat";
}

/** Failures before the first content, and after it. */
export const FAILURES = [
  ...["400", "401", "404", "413", "422", "429", "500", "502", "503", "529"],
  ...["reset before the head", "cut in the head", "garbage body", "error event first", "silent from the start"],
  ...["reset", "cut", "closed early", "garbage frame", "error event", "silent"],
] as const;
export type Failure = typeof FAILURES[number];

const ERROR_EVENTS: Record<string, string> = {
  chat: 'data: {"error":{"message":"Overloaded","type":"server_error","code":503}}\n\n',
  messages: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  responses:
    'event: error\ndata: {"type":"error","code":"server_error","message":"Overloaded","param":null,"sequence_number":9}\n\n',
};
const ERRORS: Record<string, object> = {
  chat: { error: { message: "It failed", type: "server_error", code: null, param: null } },
  messages: { type: "error", error: { type: "api_error", message: "It failed" } },
  responses: {
    error: { message: "Unsupported parameter: 'top_k'", type: "invalid_request_error", param: "top_k", code: null },
  },
};

/** What becomes of a good answer. */
export function failing(failure: Failure, play: Play, path: string, random: Random): Play {
  const wire = wireOf(path);
  const [error, event] = [ERRORS[wire] ?? ERRORS.chat!, ERROR_EVENTS[wire] ?? ERROR_EVENTS.chat!];
  const at = Math.floor((0.2 + 0.75 * random.next()) * play.body.length);
  const frames = Math.max(0, play.body.lastIndexOf("\n\n", at) + 2);
  const retryAfter = random.pick([undefined, "0", "1", "30"]);
  const within = (text: string, from: number) => ({
    ...play,
    body: Buffer.concat([play.body.subarray(0, from), Buffer.from(text), play.body.subarray(from)]),
  });
  switch (failure) {
    case "reset before the head":
      return { ...play, only: 0, ending: "reset" };
    case "cut in the head":
      return { ...play, only: 5 + random.below(25), ending: "cut" };
    case "silent from the start":
      return { ...play, only: 0, ending: "silence" };
    case "garbage body":
      return { ...play, body: Buffer.from("<html>It is down</html>") };
    case "error event first":
      return { ...play, body: Buffer.from(event) };
    case "reset":
    case "cut":
      return { ...play, body: play.body.subarray(0, at), ending: failure };
    case "silent":
      return { ...play, body: play.body.subarray(0, at), ending: "silence" };
    case "closed early":
      return { ...play, body: play.body.subarray(0, at) };
    case "garbage frame":
      return within('data: {"choices":[{]}\n\n', frames);
    case "error event":
      return { ...play, body: Buffer.concat([play.body.subarray(0, frames), Buffer.from(event)]) };
    default:
      return jsonPlay(error, Number(failure), retryAfter === undefined ? {} : { "retry-after": retryAfter });
  }
}
