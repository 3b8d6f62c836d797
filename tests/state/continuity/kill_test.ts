import { assert, assertEquals } from "@std/assert";
import { scaled } from "../../reliability/scale.ts";
import { ENDING } from "../../support/chat.ts";
import { delay, within } from "../../support/wait.ts";
import { withFolder } from "../temp_folder.ts";
import {
  type Answer,
  answerTo,
  EventReader,
  framesOf,
  isStreamed,
  RESPONSES,
  said,
  type Talk,
  talkIn,
  talkOf,
  wholeOf,
} from "./echo.ts";
import { type GatewayProcess, startGateway, writeConfig } from "../../support/gateway_process.ts";

const KILLS = scaled(20, 6);
/** Conversations that go on at once: half of them streamed, half of them whole. */
const TALKERS = 4;
/** A failure can be run again with its seed, as far as two processes do the same twice. */
const SEED = Number(Deno.env.get("LANEWAY_KILL_SEED") ?? Math.floor(Math.random() * 2 ** 32));

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The moments of a turn, in which the process is killed. */
const MOMENTS = ["asked", "word", "ending", "terminal", "whole"] as const;
type Moment = typeof MOMENTS[number];

/** A turn as its client knows it. */
interface Turn {
  id?: string;
  /** Whether the client has the terminal event, or the whole body. */
  delivered: boolean;
  /** All that was said by the user up to this turn. */
  texts: string[];
}

/** A chat upstream that streams word by word. It reports what it was asked, and when it has sent its end. */
function slowUpstream(onMoment: (moment: Moment) => void) {
  const talks = new Map<string, Talk>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body = await request.text().catch(() => undefined);
    // The gateway died as it asked.
    if (body === undefined) return new Response();
    const talk = talkIn(body);
    const [, text] = talk.at(-1)!;
    talks.set(text, talk);
    onMoment("asked");
    if (!isStreamed(body)) {
      await delay(3);
      queueMicrotask(() => onMoment("ending"));
      return Response.json(wholeOf(text));
    }
    async function* frames(): AsyncGenerator<string> {
      for (const frame of framesOf(text)) {
        yield frame;
        await delay(1);
      }
      yield ENDING;
      onMoment("ending");
    }
    return new Response(ReadableStream.from(frames()).pipeThrough(new TextEncoderStream()), {
      headers: { "content-type": "text/event-stream" },
    });
  });
  return { baseUrl: `http://127.0.0.1:${server.addr.port}/v1`, talks, stop: () => server.shutdown() };
}

function post(gateway: GatewayProcess, body: object): Promise<Response> {
  const answer = fetch(`${gateway.url}${RESPONSES}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "model", ...body }),
  });
  return within(answer);
}

/** One turn as far as it gets. Fails where the gateway is gone; `turn` then tells what had been delivered. */
async function takeTurn(
  gateway: GatewayProcess,
  turn: Turn,
  previous: Turn | undefined,
  stream: boolean,
  onMoment: (moment: Moment) => void,
): Promise<void> {
  const input = turn.texts.at(-1);
  const response = await post(gateway, { input, stream, ...(previous && { previous_response_id: previous.id }) });
  let answer: Answer;
  if (stream) {
    const reader = new EventReader(response);
    let words = 0;
    while (!reader.last) {
      if (!await reader.more()) throw new Error("The stream ended");
      turn.id ??= reader.id;
      const received = reader.text.split("event: response.output_text.delta").length - 1;
      if (received > words && !reader.last) onMoment("word");
      words = received;
    }
    answer = reader.last;
    turn.delivered = true;
    onMoment("terminal");
    await reader.toEnd().catch(() => {});
  } else {
    answer = await response.json();
    turn.id = answer.id;
    turn.delivered = true;
    onMoment("whole");
  }
  const { status, store, error } = answer;
  assertEquals([response.status, status, store], [200, "completed", true], `${error?.message}`);
  assert(said(answer) === answerTo(input!));
}

/** What becomes of an answer's id: whether it can be read, and whether the conversation can go on from it. */
async function assertKept(gateway: GatewayProcess, turn: Turn, talks: Map<string, Talk>): Promise<void> {
  const found = await fetch(`${gateway.url}${RESPONSES}/${turn.id}`);
  const answer: Answer = await found.json();
  const input = `and then ${crypto.randomUUID()}`;
  const continued = await post(gateway, { input, previous_response_id: turn.id, store: false });
  const next: Answer = await continued.json();
  const texts = turn.texts.map((text) => text.slice(0, 40)).join(", ");
  const context = `${turn.delivered ? "delivered" : "cut"} ${turn.id}: ${texts}`;
  if (!turn.delivered && continued.status === 400) {
    assertEquals([next.error?.code, found.status], ["previous_response_not_found", 404], context);
    return;
  }
  assertEquals([found.status, continued.status], [200, 200], context);
  assertEquals(answer.status, "completed", context);
  assert(said(answer) === answerTo(turn.texts.at(-1)!), context);
  // Not `assertEquals`: the difference of texts that long takes a minute to print.
  assert(JSON.stringify(talks.get(input)) === JSON.stringify(talkOf(...turn.texts, input)), context);
}

Deno.test(`an answer whose end was delivered outlives SIGKILL at any moment (seed ${SEED})`, async () => {
  await withFolder(async (folder) => {
    const random = randomFrom(SEED);
    let onMoment: (moment: Moment) => void = () => {};
    const upstream = slowUpstream((moment) => onMoment(moment));
    const config = await writeConfig(folder, upstream.baseUrl);
    const all: Turn[] = [];
    const counts = { delivered: 0, cut: 0, kept: 0 };
    let words = 0;
    let gateway = await startGateway(config);
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const wanted = MOMENTS[kill % MOMENTS.length]!;
        let left = 1 + Math.floor(random() * (wanted === "word" ? 30 : 8));
        // Between the upstream's end and the terminal event the store is written, which takes a few milliseconds.
        const after = wanted === "ending" ? random() * 8 : 0;
        const killed = Promise.withResolvers<void>();
        let dying = false;
        const strike = () => {
          if (dying) return;
          dying = true;
          killed.resolve(gateway.kill());
        };
        onMoment = (moment) => {
          if (moment !== wanted || --left !== 0) return;
          if (after === 0) strike();
          else setTimeout(strike, after);
        };
        const turns: Turn[] = [];
        const talk = async (number: number) => {
          let previous: Turn | undefined;
          // A conversation of before the last kill goes on.
          const old = all.filter(({ delivered, texts }) => delivered && texts.length < 20);
          if (old.length > 0 && random() < 0.7) previous = old[Math.floor(random() * old.length)];
          while (!dying) {
            // A long one takes several writes to the store.
            const long = random() < 0.15 ? "x".repeat(Math.floor(random() * 500_000)) : "";
            const text = `word${++words} ${"and more ".repeat(Math.floor(random() * 6))}${long}`.trim();
            const turn: Turn = { delivered: false, texts: [...previous?.texts ?? [], text] };
            turns.push(turn);
            try {
              await takeTurn(gateway, turn, previous, number % 2 === 0, (moment) => onMoment(moment));
            } catch (error) {
              if (!dying) throw error;
            }
            previous = turn;
          }
        };
        await Promise.all(Array.from({ length: TALKERS }, (_, number) => talk(number)));
        await killed.promise;
        onMoment = () => {};

        gateway = await startGateway(config);
        const answered = turns.filter(({ id }) => id !== undefined);
        for (const turn of answered) {
          await assertKept(gateway, turn, upstream.talks);
          counts[turn.delivered ? "delivered" : "cut"]++;
        }
        all.push(...answered);
      }
      // What was there after one kill is there after all of them.
      const delivered = all.filter((turn) => turn.delivered);
      for (const turn of delivered.filter((_, index) => index % 5 === 0)) {
        await assertKept(gateway, turn, upstream.talks);
      }
      // deno-lint-ignore no-console -- a figure that people want to see
      console.log(`${KILLS} kills: ${counts.delivered} answers delivered, ${counts.cut} cut`);
      assert(counts.delivered > KILLS && counts.cut > 0, JSON.stringify(counts));
    } finally {
      await gateway.kill();
      await upstream.stop();
    }
  });
});
