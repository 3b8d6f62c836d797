/**
 * Answers of real engines that break off at each of their events: the engine goes on with its own beginning, and a client of
 * each wire gets the same text as without a break, byte for byte. The engine's model has to go on with any text of its own.
 */
import { assert, assertEquals } from "@std/assert";
import { asObject, asObjects, asText, type JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { bodyOf } from "../support/chunks.ts";
import { answerFor, CLIENTS } from "../support/continued_answers.ts";
import { MODELS, withEngine } from "./engines.ts";

const ENGINES = [
  { name: "llama-server", variable: "LANEWAY_ENGINE_LLAMA_SERVER_CONTINUES", provider: "llamacpp" },
  { name: "vLLM", variable: "LANEWAY_ENGINE_VLLM_CONTINUES", provider: "vllm" },
];
/** A tiny model that is a script finds its text by the last word. */
const PROMPT = "Tell a story of a #fox";

/** After how many events with text a stream breaks off, and how much of the next event still comes, in bytes. */
interface Cut {
  after: number;
  bytes?: number;
}

interface Leg {
  asked: JsonObject;
  /** The text in its events, also in those that never arrived. */
  texts: string[];
}

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
    legs.push({ asked, texts: frames.map(textIn).filter((one) => one !== "") });
    const headers = {
      "content-type": response.headers.get("content-type")!,
      "content-length": `${new TextEncoder().encode(text).length}`,
    };
    const cut = cuts.shift();
    return new Response(cut ? brokenOff(frames, cut) : text, { status: response.status, headers });
  });
  await use(`http://127.0.0.1:${server.addr.port}${pathname}`, cuts, legs);
}

function textIn(frame: string): string {
  const [, data = "{}"] = /^data: (\{.*\})/.exec(frame) ?? [];
  const [choice] = asObjects(JSON.parse(data).choices);
  return asText(asObject(choice?.delta).content);
}

/** The stream up to the cut, where the connection is lost: more was announced. */
function brokenOff(frames: readonly string[], { after, bytes = 0 }: Cut): ReadableStream<Uint8Array> {
  let left = after;
  const end = 1 + frames.findIndex((frame) => textIn(frame) !== "" && --left === 0);
  const next = new TextEncoder().encode(frames[end]).slice(0, bytes);
  return bodyOf([new TextEncoder().encode(frames.slice(0, end).join("")), next]);
}

for (const { provider, ...engine } of ENGINES) {
  withEngine({ ...engine, name: `${engine.name}: continuation` }, (baseUrl) => {
    for (const client of Object.keys(CLIENTS)) {
      Deno.test(`${engine.name} for ${client}: an answer that breaks off goes on natively, byte for byte`, () =>
        withCuts(baseUrl, async (url, cuts, legs) => {
          const app = newApp({
            config: {
              upstreams: { engine: { driver: "chat", provider, baseUrl: url } },
              lanes: {
                oss: { models: { model: { task: "chat", targets: [{ upstream: "engine", model: MODELS.chat }] } } },
              },
            },
            fetch,
            now: Date.now,
          });
          const ask = () => answerFor(app, client, { prompt: PROMPT, maxTokens: 200 });
          const { text: whole } = await ask();
          const { texts } = legs[0]!;
          assertEquals(texts.join(""), whole);
          assert(texts.length > 10, "the answer is too short to be cut");
          for (const [at] of texts.entries()) {
            const once = [{ after: at + 1, bytes: at % 3 * 9 }];
            for (const how of at % 5 === 0 && at < texts.length - 5 ? [once, [...once, { after: 3 }]] : [once]) {
              legs.length = 0;
              cuts.push(...how);
              const { text, ends, errors } = await ask();
              assertEquals([text, ends, errors], [whole, 1, 0], `cut after ${JSON.stringify(how)}`);
              assertEquals(legs.length, how.length + 1);
              const shown = texts.slice(0, at + 1).join("").trimEnd();
              assertEquals(asObjects(legs[1]!.asked.messages).at(-1), { role: "assistant", content: shown });
              // It writes only what is missing.
              assertEquals(legs[1]!.texts.join(""), whole.slice(shown.length));
            }
          }
        }));
    }
  });
}
