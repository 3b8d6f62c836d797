import { assert, assertEquals } from "@std/assert";
import { CONFIG, newApp } from "../support/app.ts";
import { bodyOf, boundariesOf, piecesOf } from "../support/chunks.ts";
import { answerBytes, isStream, loadFixtures } from "../support/fixtures.ts";
import { WIRES } from "../support/wires.ts";
import { IS_FULL, report } from "./scale.ts";

/** Of every fixture so many places are tried in a short run. */
const FEW = 3;
/** A silence that is long enough for an upstream of this process. */
const SILENCE_MS = 4;

const CLIENTS = {
  chat: { path: "/oss/v1/chat/completions", done: /^data: \[DONE\]$/gm, failed: 'data: {"error":' },
  messages: { path: "/oss/v1/messages", done: /^event: message_stop$/gm, failed: "event: error" },
  responses: {
    path: "/oss/v1/responses",
    done: /^event: response\.(?:completed|incomplete)$/gm,
    failed: "event: response.failed",
  },
};

type Bytes = Uint8Array<ArrayBuffer>;

/** How an upstream ends after what it has sent so far. */
const ENDINGS: Record<string, (sent: Bytes) => ReadableStream<Uint8Array>> = {
  "closes": (sent) => bodyOf([sent]),
  "breaks": (sent) => bodyOf([sent], new TypeError("connection reset")),
  "hangs": (sent) =>
    new ReadableStream({
      start: (controller) => controller.enqueue(sent),
    }),
  "sends garbage": (sent) =>
    bodyOf([sent, new TextEncoder().encode('data: {"choices":[{]]\n\ndata: \u0000\u00ff<html>\n\n{"a":\n\n')]),
};

/** The same body, which breaks when its call is aborted, as the platform's does. */
function until(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  return body.pipeThrough(new TransformStream(), { signal });
}

/** Without what the gateway gives anew each time: ids, clocks, seals, and counts that it learns to make better. */
function comparable(text: string): string {
  return text.replace(/lw1\.[\w-]+/g, "seal").replace(
    /"(id|input_tokens|item_id|created|created_at|completed_at|sequence_number)":("[^"]*"|\d+)/g,
    '"$1":0',
  );
}

for (const upstream of WIRES) {
  const fixtures = loadFixtures(upstream.name).filter(isStream);
  for (const [client, shape] of Object.entries(CLIENTS)) {
    Deno.test(`every byte: ${client} before a ${upstream.name} upstream that dies anywhere gets one right ending`, async () => {
      let body: ReadableStream<Uint8Array> = bodyOf([]);
      const timeouts = { headMs: 1_000, firstEventMs: SILENCE_MS, idleMs: SILENCE_MS };
      const app = newApp({
        config: {
          ...CONFIG,
          upstreams: { ...CONFIG.upstreams, fake: { driver: upstream.name, baseUrl: "http://up.test", timeouts } },
        },
        env: {},
        fetch: (_, { signal }) =>
          Promise.resolve(new Response(until(body, signal!), { headers: { "content-type": "text/event-stream" } })),
      });
      const ask = async (answer: ReadableStream<Uint8Array>) => {
        body = answer;
        const messages = [{ role: "user", content: "Hello" }];
        const response = await app.post(shape.path, {
          model: "model",
          max_tokens: 100,
          stream: true,
          messages,
          input: "Hello",
          store: false,
        });
        return { ok: response.ok, text: await response.text() };
      };
      let tried = 0;
      for (const fixture of fixtures) {
        const bytes = answerBytes(fixture);
        const frames = boundariesOf(bytes);
        const whole = comparable((await ask(bodyOf(piecesOf(bytes, 64)))).text);
        for (const [how, ending] of Object.entries(ENDINGS)) {
          const everywhere = how === "closes" || how === "breaks";
          const places = everywhere ? Array.from({ length: bytes.length }, (_, at) => at) : frames;
          const step = IS_FULL ? 1 : Math.ceil(places.length / FEW);
          for (let index = 0; index < places.length; index += step) {
            const at = places[index]!;
            const { ok, text } = await ask(ending(bytes.slice(0, at)));
            const where = `${fixture.name} ${how} after ${at} bytes: ${text}`;
            tried++;
            if (!ok) {
              assert("error" in JSON.parse(text), where);
              continue;
            }
            const failed = text.split(shape.failed).length - 1;
            assertEquals([...text.matchAll(shape.done)].length + failed, 1, where);
            if (failed === 0) continue;
            const said = comparable(text.slice(0, text.indexOf(shape.failed)));
            const beginning = said.slice(0, said.lastIndexOf("\n\n") + 2);
            if (how !== "sends garbage") assert(isPrefix(beginning, whole), `not a beginning: ${where}\n${whole}`);
          }
        }
      }
      report(`${client} before ${upstream.name}: ${fixtures.length} streams, ${tried} ways to die`);
    });
  }
}

/** Whether the frames of one text are the first of the other. */
function isPrefix(beginning: string, whole: string): boolean {
  const [said, all] = [beginning, whole].map((text) => text.split("\n\n").filter((frame) => frame !== ""));
  return said!.every((frame, index) => frame === all![index] || frame.startsWith(":"));
}
