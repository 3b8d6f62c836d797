import { assert } from "@std/assert";
import { type Asked, chunk, STREAM_HEAD, TcpUpstream } from "../sockets/tcp.ts";
import { delay, within } from "../support/wait.ts";
import { BODY, config, PATH } from "./endless.ts";
import { withGateway } from "./gateway.ts";
import { report, scaled } from "./scale.ts";

const ANSWERS = scaled(200, 100);
const LIMIT_MS = 1_500;

const WHOLE_HEAD = STREAM_HEAD.replace("text/event-stream", "application/json");
const WORD = 'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n';

/** How an answer goes on that never ends, and what ends it. */
const ENDLESS = {
  whole: { head: WHOLE_HEAD, piece: chunk(" "), timeouts: { wholeMs: LIMIT_MS } },
  streamed: { head: STREAM_HEAD, piece: chunk(WORD), timeouts: { totalMs: LIMIT_MS } },
};

/** What nobody refers to any more is collected while they go on: their time-outs must hold all the same. */
for (const [mode, { head, piece, timeouts }] of Object.entries(ENDLESS)) {
  Deno.test({
    name: `silence: ${ANSWERS} answers that never end are given up in time: ${mode}`,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const upstream = new TcpUpstream();
      const talk = async (asked: Asked) => {
        const begun = performance.now();
        const gone = { at: 0 };
        const left = asked.left.then((at) => gone.at = at);
        for (let next = head; gone.at === 0; next = piece) {
          await asked.write(next).catch(() => left); // The gateway has enough of it.
          await delay(20);
        }
        return gone.at - begun;
      };
      const { upstreams: { up }, lanes } = config(upstream.baseUrl);
      try {
        await withGateway({ upstreams: { up: { ...up, timeouts } }, lanes }, async ({ url }) => {
          // On a busy machine some are given up before this upstream has read what they ask.
          const talks: Promise<number>[] = [];
          void (async () => {
            for (;;) talks.push(talk(await upstream.next()));
          })();
          const ask = async () => {
            const body = JSON.stringify({ ...BODY, stream: mode === "streamed" });
            const response = await fetch(url + PATH, { method: "POST", body });
            return { status: response.status, text: await response.text() };
          };
          const answers = Promise.all(Array.from({ length: ANSWERS }, ask));
          const answered = await within(answers);
          const times = await within(Promise.all(talks));
          for (const { status, text } of answered) {
            // On a busy machine the time may be up before an answer has begun.
            assert(status === 504 || (status === 200 && mode === "streamed"), `${status}`);
            assert(text.includes("did not answer within"), text.slice(-300));
          }
          assert(times.length > 0, "nothing was asked");
          report(
            `${times.length} endless answers (${mode}): given up after ${Math.round(Math.max(...times))} ms at most`,
          );
        });
      } finally {
        await upstream.stop();
      }
    },
  });
}
