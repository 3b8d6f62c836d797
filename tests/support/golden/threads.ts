/** The golden files of threads: each request as an upstream of every wire gets it, and its answer. */
import type { GenerateResponse, OutputPart } from "../../../src/canonical/generate.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { replay } from "../../../src/canonical/replay.ts";
import { CONFIG, newApp } from "../app.ts";
import { answerStream } from "../chat.ts";
import { newWireRequest } from "../context.ts";
import { fakeUpstream } from "../fake_upstream.ts";
import { type Wire, WIRES } from "../wires.ts";
import { answerOf, type Part, requestsTo, writeParts } from "./requests.ts";

/** The requests of a client, one after the other, and what the model says to those that get there. */
export interface ThreadFixture {
  name: string;
  turns: { request: JsonObject; said?: Said }[];
}

interface Said {
  text?: string;
  calls?: { id: string; name: string; input: string }[];
  finish?: GenerateResponse["finish"]["reason"];
}

const FIXTURES = new URL("../../fixtures/threads/", import.meta.url);
const HEADERS = { "anthropic-version": "2023-06-01", "anthropic-beta": "message-threads-2026-08-12" };

export function loadThreads(): ThreadFixture[] {
  return [...Deno.readDirSync(FIXTURES)]
    .map(({ name }): ThreadFixture => JSON.parse(Deno.readTextFileSync(new URL(name, FIXTURES))))
    .sort((one, other) => one.name < other.name ? -1 : 1);
}

/** Ids of the answers before it stand in a request as `(id of answer 1)`. */
export async function threadGolden({ turns }: ThreadFixture, isSure: boolean): Promise<string> {
  const parts: Part[][] = turns.map(() => []);
  for (const wire of WIRES) {
    const said = turns.flatMap(({ said }) => said ?? []);
    const upstream = fakeUpstream(...said.map((one) => ({ body }: { body: string }) => sayIn(wire, one, body)));
    const fake = { ...CONFIG.upstreams.fake, driver: wire.name };
    const app = newApp({ config: { ...CONFIG, upstreams: { ...CONFIG.upstreams, fake } }, fetch: upstream.fetch });
    const ids: string[] = [];
    for (const [index, { request }] of turns.entries()) {
      const from = upstream.asked.length;
      const body = JSON.stringify(request).replace(/\(id of answer (\d+)\)/g, (_, number) => ids[number - 1]!);
      const response = await app.post("/oss/v1/messages?beta=true", body, HEADERS);
      ids.push(/"id":"(msg_\w+)"/.exec(await response.clone().text())?.[1] ?? "none");
      const all = [...requestsTo(wire.name, upstream.asked.slice(from)), await answerOf(wire.name, response)];
      parts[index]!.push(...all.map((part) => ({ ...part, what: `turn ${index + 1}: ${part.what}` })));
    }
  }
  return writeParts(parts.flat(), isSure);
}

/** The answer of an upstream, as its wire has it. */
function sayIn(wire: Wire, { text, calls = [], finish }: Said, asked: string): Promise<Response> | Response {
  const content: OutputPart[] = calls.map((call) => ({ type: "tool-call", kind: "function", ...call }));
  if (text !== undefined) content.unshift({ type: "text", text });
  const reason = finish ?? (calls.length > 0 ? "tool-calls" : "stop");
  const usage = { inputTokens: 9, outputTokens: 2 };
  const output: GenerateResponse = { model: "org/model", content, finish: { reason }, usage };
  const { stream = false } = JSON.parse(asked);
  const exchange = wire.newExchange({ model: "org/model", messages: [], stream }, newWireRequest({}));
  if (stream) return answerStream([wire.writeText(replay(output), exchange)]);
  return wire.serializeResponse(output, exchange).then((body) => Response.json(body));
}
