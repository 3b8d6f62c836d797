/** What is left of a request in memory once it is over. */
import { assert } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type ConfigInput, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { bodyFor, chatStream, chatWhole, CONFIG, PATH, responseOf, testEach } from "./support.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Two homes, so that the gateway remembers which of them a conversation has. */
const TWO_HOMES: ConfigInput = {
  ...CONFIG,
  lanes: {
    oss: {
      models: {
        chat: {
          task: "chat",
          targets: [{ upstream: "chat", model: "org/model" }, { upstream: "messages", model: "org/model" }],
        },
      },
    },
  },
};
const ANSWER = { frames: chatStream([{ reasoning: "hm" }, { content: "Hi" }]), whole: chatWhole({ content: "Hi" }) };

const EXCHANGES = 40;
const REQUEST_BYTES = 100_000;
/** Less than any form of one body, and more than a conversation's home and what a heap is uncertain by. */
const MOST_BYTES_EACH = 40_000;

testEach("R69", "of a request that is over, answered, failed or left, next to nothing stays in memory", {}, async (
  client,
  mode,
) => {
  const { fetch, asked } = fakeUpstream(({ body }) =>
    body.includes("fail") ? new Response("<html>", { status: 502 }) : responseOf(ANSWER, mode)
  );
  const app = newApp({ config: TWO_HOMES, fetch });
  let count = 0;
  const run = async () => {
    for (let at = 0; at < EXCHANGES; at++) {
      const words = `${++count} ${at % 10 === 1 ? "fail" : "go"} `;
      const turn = { asked: words.repeat(REQUEST_BYTES / words.length), pictures: [], answered: undefined, calls: [] };
      const options = { stream: mode === "streamed", turns: [{ ...turn, thought: undefined }] };
      const response = await app.post(PATH[client], { ...bodyFor(client, options), store: false });
      if (at % 10 === 2) await response.body?.cancel();
      else await response.text();
      asked.length = 0;
      app.logs.length = 0;
    }
    // What is done with lets go of its last things in a turn of its own.
    await new Promise((resolve) => setTimeout(resolve));
    collectGarbage();
    return Deno.memoryUsage().heapUsed;
  };
  await run();
  const before = await run();
  const grown = (await run() - before) / EXCHANGES;

  assert(grown < MOST_BYTES_EACH, `${grown} bytes a request`);
});
