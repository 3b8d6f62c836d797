/** What is left of a request in memory once it is over. */
import { assert } from "@std/assert";
import { collectGarbage } from "../../src/util/collect_garbage.ts";
import { scaled } from "../reliability/scale.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { bodyFor, chatStream, chatWhole, CONFIG, type Mode, PATH, responseOf, testEach, type Wire } from "./support.ts";

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

/** How many bytes each of so many requests leaves, once an app has seen as many twice. */
async function leftByEach(
  count: number,
  { client, mode, bytes, config }: { client: Wire; mode: Mode; bytes: number; config: ConfigInput },
): Promise<number> {
  const { fetch, asked } = fakeUpstream(({ body }) =>
    body.includes("fail") ? new Response("<html>", { status: 502 }) : responseOf(ANSWER, mode)
  );
  const app = newApp({ config, fetch });
  let all = 0;
  const run = async () => {
    for (let at = 0; at < count; at++) {
      const words = `${++all} ${at % 10 === 1 ? "fail" : "go"} `;
      const turn = { asked: words.repeat(bytes / words.length), pictures: [], answered: undefined, calls: [] };
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
  return (await run() - before) / count;
}

/** Less than any form of one body, and more than a conversation's home and what a heap is uncertain by. */
const LARGE = { count: scaled(40, 16), bytes: 100_000, config: TWO_HOMES, mostEach: 40_000 };
/**
 * Less than a signal takes that is still listed, and more than a heap is uncertain by. Only a conversation with two homes is
 * remembered, and only a console keeps the latest requests.
 */
const SMALL = { count: 300, bytes: 100, config: { ...CONFIG, console: false as const }, mostEach: 250 };

for (const [size, { count, mostEach, ...asked }] of Object.entries({ large: LARGE, small: SMALL })) {
  testEach(
    "R69",
    `of a ${size} request that is over, answered, failed or left, next to nothing stays in memory`,
    {},
    async (client, mode) => {
      const grown = await leftByEach(count, { client, mode, ...asked });
      assert(grown < mostEach, `${grown} bytes a request`);
    },
  );
}
