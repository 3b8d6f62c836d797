/**
 * Answers of real engines that break off at each of their events: the engine goes on with its own beginning, and a client of
 * each wire gets the same text as without a break, byte for byte. The engine's model has to go on with any text of its own.
 */
import { assert, assertEquals } from "@std/assert";
import { asObject, asObjects, asText, type JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { bodyOf } from "../support/chunks.ts";
import { answerFor, type ClientOptions, CLIENTS } from "../support/continued_answers.ts";
import { MODELS, withEngine } from "./engines.ts";

const ENGINES = [
  { name: "llama-server", variable: "LANEWAY_ENGINE_LLAMA_SERVER_CONTINUES", provider: "llamacpp" },
  { name: "vLLM", variable: "LANEWAY_ENGINE_VLLM_CONTINUES", provider: "vllm" },
];
/** A tiny model that is a script finds what it says by the word that is marked. */
const PROMPTS = {
  "an answer": { prompt: "Tell a story of a #fox" },
  "an answer after a thought": { prompt: "Think first, then tell what you know of the #wolf" },
  "an answer with a call": { prompt: "Look up the weather where an #owl lives", tools: ["get_weather"] },
} satisfies Record<string, ClientOptions>;

/** After how many events with a piece of text or of a call a stream breaks off, and how much of the next event still comes, in bytes. */
interface Cut {
  after: number;
  bytes?: number;
}

interface Leg {
  asked: JsonObject;
  /** The pieces in its events, also in those that never arrived. */
  pieces: Piece[];
}

/** Text; empty for a piece of a call. */
type Piece = string;

/** Stands before the engine. Its streams break off as `cuts` says, one after the other; those that follow are complete. */
async function withCuts(
  engine: string,
  use: (baseUrl: string, cuts: Cut[], legs: Leg[]) => Promise<void>,
): Promise<void> {
  const { origin, pathname } = new URL(engine);
  const cuts: Cut[] = [];
  const legs: Leg[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url, body }) => {
    const asked: JsonObject = { ...await new Response(body).json(), temperature: 0, seed: 7 };
    const response = await fetch(origin + new URL(url).pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    const text = await response.text();
    const frames = text.split(/(?<=\n\n)/);
    legs.push({ asked, pieces: frames.flatMap((frame) => pieceIn(frame) ?? []) });
    const headers = {
      "content-type": response.headers.get("content-type")!,
      "content-length": `${new TextEncoder().encode(text).length}`,
    };
    const cut = cuts.shift();
    return new Response(cut ? brokenOff(frames, cut) : text, { status: response.status, headers });
  });
  await use(`http://127.0.0.1:${server.addr.port}${pathname}`, cuts, legs);
}

function pieceIn(frame: string): Piece | undefined {
  const [, data = "{}"] = /^data: (\{.*\})/.exec(frame) ?? [];
  const [choice] = asObjects(JSON.parse(data).choices);
  const { content, tool_calls } = asObject(choice?.delta);
  return asText(content) || (tool_calls === undefined ? undefined : "");
}

/** The stream up to the cut, where the connection is lost: more was announced. */
function brokenOff(frames: readonly string[], { after, bytes = 0 }: Cut): ReadableStream<Uint8Array> {
  let left = after;
  const end = 1 + frames.findIndex((frame) => pieceIn(frame) !== undefined && --left === 0);
  const next = new TextEncoder().encode(frames[end]).slice(0, bytes);
  return bodyOf([new TextEncoder().encode(frames.slice(0, end).join("")), next]);
}

/** The breaks of an answer in so many pieces: at each of them, now and then amid the next event, and now and then once more. */
function* breaksOf(count: number): Generator<[Cut, ...Cut[]]> {
  for (let after = 1; after <= count; after++) {
    const cut = { after, bytes: after % 3 * 9 };
    yield [cut];
    if (after % 5 === 1 && after + 4 < count) yield [cut, { after: 3 }];
  }
}

for (const { provider, ...engine } of ENGINES) {
  withEngine({ ...engine, name: `${engine.name}: continuation` }, (baseUrl) => {
    for (const client of Object.keys(CLIENTS)) {
      for (const [what, options] of Object.entries(PROMPTS)) {
        Deno.test(`${engine.name} for ${client}: ${what} goes on natively wherever it breaks off, byte for byte`, () =>
          withCuts(baseUrl, async (url, cuts, legs) => {
            const targets = [{ upstream: "engine", model: MODELS.chat }];
            const app = newApp({
              config: {
                upstreams: { engine: { driver: "chat", provider, baseUrl: url } },
                lanes: { oss: { models: { model: { task: "chat", targets } } } },
              },
              fetch,
              now: Date.now,
            });
            const ask = async () => {
              const { text, reasoning, calls, ends, errors } = await answerFor(app, client, {
                ...options,
                maxTokens: 200,
              });
              return { text, reasoning, calls, ends, errors };
            };
            const whole = await ask();
            const [{ pieces }] = legs as [Leg];
            assertEquals([whole.ends, pieces.join("")], [1, whole.text]);
            assert(pieces.length > 5, "the answer is too short");
            for (const [first, ...more] of breaksOf(pieces.length)) {
              legs.length = 0;
              cuts.push(first, ...more);
              assertEquals(await ask(), whole, `cut after ${JSON.stringify([first, ...more])}`);
              const [, second, ...others] = legs;
              assertEquals(others.length, more.length);
              const shown = pieces.slice(0, first.after).join("").trimEnd();
              assertEquals(asObjects(second!.asked.messages).at(-1)!.content, shown);
              // It writes only what is missing.
              assertEquals(second!.pieces.join(""), whole.text.slice(shown.length));
            }
          }));
      }
    }
  });
}
