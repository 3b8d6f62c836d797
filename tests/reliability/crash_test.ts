import { assert, assertEquals } from "@std/assert";
import { answerTo, RESPONSES, said, type Talk, talkIn, talkOf, wholeOf } from "../state/continuity/echo.ts";
import { startGateway, writeConfig } from "../support/gateway_process.ts";
import { withFolder } from "../state/temp_folder.ts";
import { until } from "../support/wait.ts";
import { inParallel } from "./gateway.ts";
import { report, scaled } from "./scale.ts";

/** How often it is killed, and how many talk to it meanwhile. */
const KILLS = scaled(10, 2);
const TALKERS = scaled(100, 30);
/** How many answers it gives before it is killed: another number at each kill. */
const answersBefore = (kill: number) => 2 * TALKERS + 7 * kill;

/** A turn whose answer was delivered. */
interface Turn {
  id: string;
  texts: string[];
}

Deno.test(`crash: of ${TALKERS} conversations at once, no answer that was delivered is lost by SIGKILL`, async () => {
  await withFolder(async (folder) => {
    const talks = new Map<string, Talk>();
    const upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      const body = await request.text().catch(() => undefined);
      if (body === undefined) return new Response(); // The gateway died as it asked.
      const talk = talkIn(body);
      const [, text] = talk.at(-1)!;
      talks.set(text, talk);
      return Response.json(wholeOf(text));
    });
    const config = await writeConfig(folder, `http://127.0.0.1:${upstream.addr.port}/v1`);
    const delivered: Turn[] = [];
    let asked = 0;
    let gateway = await startGateway(config);

    const ask = async (input: string, previous?: Turn) => {
      const response = await fetch(`${gateway.url}${RESPONSES}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "model", input, ...(previous && { previous_response_id: previous.id }) }),
      });
      const answer = await response.json();
      assertEquals([response.status, answer.error?.message], [200, undefined]);
      assertEquals(said(answer), answerTo(input));
      const turn = { id: answer.id, texts: [...previous?.texts ?? [], input] };
      delivered.push(turn);
      return turn;
    };

    try {
      // What each of them goes on from after a kill: the last that it was told.
      const last: (Turn | undefined)[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        let dying = false;
        const talking = inParallel(TALKERS, TALKERS, async (talker) => {
          while (!dying) {
            // Conversations that grow for ever would make the later kills slower than the first.
            const previous = (last[talker]?.texts.length ?? 0) < 8 ? last[talker] : undefined;
            try {
              last[talker] = await ask(`turn ${++asked} of ${talker}`, previous);
            } catch (error) {
              if (!dying) throw error;
            }
          }
        });
        const enough = delivered.length + answersBefore(kill);
        await Promise.race([talking, until(() => delivered.length >= enough)]);
        dying = true;
        await gateway.kill();
        await talking;
        gateway = await startGateway(config);
      }

      const before = [...delivered];
      await inParallel(before.length, 20, async (index) => {
        const { id, texts } = before[index]!;
        const found = await fetch(`${gateway.url}${RESPONSES}/${id}`);
        assertEquals([found.status, said(await found.json())], [200, answerTo(texts.at(-1)!)], `${id}: ${texts}`);
      });
      // Whole conversations, as the upstream hears them when they go on.
      await inParallel(TALKERS, 20, async (talker) => {
        const previous = last[talker];
        if (!previous) return;
        const { texts } = await ask(`and then ${talker}`, previous);
        assert(JSON.stringify(talks.get(texts.at(-1)!)) === JSON.stringify(talkOf(...texts)), `${texts}`);
      });
      assert(before.length > TALKERS, `only ${before.length} answers were delivered`);
      report(`${KILLS} kills under ${TALKERS} conversations: ${before.length} answers delivered, all of them kept`);
    } finally {
      await gateway.kill();
      await upstream.shutdown();
    }
  });
});
