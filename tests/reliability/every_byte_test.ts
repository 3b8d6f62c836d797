import { CONFIG, newApp } from "../support/app.ts";
import { bodyOf, boundariesOf, piecesOf } from "../support/chunks.ts";
import { answerBytes, isStream, loadFixtures } from "../support/fixtures.ts";
import { WIRES } from "../support/wires.ts";
import { assertRight, CLIENTS, comparable, inTime } from "./endings.ts";
import { report, scaled } from "./scale.ts";

/** A silence that is long enough for an upstream of this process. */
const SILENCE_MS = 20;
/** How many are tried at once: those that hang wait together. */
const WIDTH = 20;

type Bytes = Uint8Array<ArrayBuffer>;

/** How an upstream ends after what it has sent so far, and whether that is tried after every byte or after every frame. */
const ENDINGS: Record<string, { after: "byte" | "frame"; ending(sent: Bytes): ReadableStream<Uint8Array> }> = {
  closes: { after: "frame", ending: (sent) => bodyOf([sent]) },
  breaks: { after: "byte", ending: (sent) => bodyOf([sent], new TypeError("connection reset")) },
  hangs: {
    after: "frame",
    ending: (sent) => new ReadableStream({ start: (controller) => controller.enqueue(sent) }),
  },
  "sends garbage": {
    after: "frame",
    ending: (sent) =>
      bodyOf([sent, new TextEncoder().encode('data: {"choices":[{]]\n\ndata: \u0000\u00ff<html>\n\n{"a":\n\n')]),
  },
};

/** The same body, which breaks when its call is aborted, as the platform's does. */
function until(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  return body.pipeThrough(new TransformStream(), { signal });
}

/** What asks a gateway of its own, whose upstream answers with what it is given. */
function newAsk(driver: string, path: string, silenceMs: number) {
  let body: ReadableStream<Uint8Array> = bodyOf([]);
  const timeouts = { headMs: 60_000, firstEventMs: silenceMs, idleMs: silenceMs };
  const app = newApp({
    config: {
      ...CONFIG,
      upstreams: { ...CONFIG.upstreams, fake: { driver, baseUrl: "http://up.test", timeouts } },
    },
    env: {},
    // A machine that stands still for a while brings no keep-alives, which are no beginning of the answer.
    pace: { keepAliveMs: 3_600_000 },
    fetch: (_, { signal }) =>
      Promise.resolve(new Response(until(body, signal!), { headers: { "content-type": "text/event-stream" } })),
  });
  return async (answer: ReadableStream<Uint8Array>) => {
    body = answer;
    const messages = [{ role: "user", content: "Hello" }];
    const more = { model: "model", max_tokens: 100, stream: true, store: false };
    const response = await app.post(path, { ...more, messages, input: "Hello" });
    return { ok: response.ok, text: await response.text() };
  };
}

/** So many places are tried of each stream, evenly spread: in a short run one, another one for each stream. */
const PLACES = scaled(Infinity, 1, 50);

function chosen(places: readonly number[], seed: number): readonly number[] {
  const step = Math.max(1, Math.floor(places.length / PLACES));
  return places.filter((_, index) => index % step === seed % step).slice(0, PLACES);
}

for (const upstream of WIRES) {
  const fixtures = loadFixtures(upstream.name).filter(isStream);
  for (const [client, shape] of Object.entries(CLIENTS)) {
    Deno.test(`every byte: ${client} before a ${upstream.name} upstream that dies anywhere gets one right ending`, async () => {
      const patient = newAsk(upstream.name, shape.path, 60_000);
      let tried = 0;

      async function* deaths() {
        for (const [number, fixture] of fixtures.entries()) {
          const bytes = answerBytes(fixture);
          const whole = comparable((await patient(bodyOf(piecesOf(bytes, 64)))).text);
          const places = { byte: Array.from(bytes, (_, at) => at), frame: boundariesOf(bytes) };
          for (const [how, { after, ending }] of Object.entries(ENDINGS)) {
            for (const at of chosen(places[after], 7919 * (number + 1))) {
              yield {
                how,
                whole,
                answer: ending(bytes.slice(0, at)),
                where: `${fixture.name} ${how} after ${at} bytes`,
              };
            }
          }
        }
      }

      const all = deaths();
      const worker = async () => {
        const [waits, hurries] = [60_000, SILENCE_MS].map((ms) => newAsk(upstream.name, shape.path, ms));
        for await (const { how, whole, answer, where: place } of all) {
          const outcome = await inTime((how === "hangs" ? hurries! : waits!)(answer), place);
          tried++;
          const where = `${place}: ${outcome.text}`;
          assertRight(outcome, whole, { shape, where, isWhole: how !== "sends garbage" });
        }
      };
      await Promise.all(Array.from({ length: WIDTH }, worker));
      report(`${client} before ${upstream.name}: ${fixtures.length} streams, ${tried} ways to die`);
    });
  }
}
