import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { inParallel, withGateway } from "./gateway.ts";
import { type Fate, fates, startFlaky, UNTAKEN } from "./flaky.ts";
import { until } from "../support/wait.ts";
import { report, scaled } from "./scale.ts";

const SEED = 20261121;
const REQUESTS = scaled(2_000, 300);
const WIDTH = 20;
/** Longer than a busy machine keeps an upstream that is well from answering. */
const SILENCE_MS = 2_000;

/** How often a request may be worked on, or charged for, in vain: by the configuration's default one such failure is followed. */
const MOST_COSTLY = 2;

/** What the client got: all the words, a refusal, or words that broke off and said so. */
type Outcome = "served" | "refused" | "broken off";

async function ask(url: string, text: string, stream: boolean): Promise<Outcome> {
  const response = await fetch(`${url}/oss/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "any", stream, messages: [{ role: "user", content: text }] }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = await response.text();
  if (!response.ok) {
    assert([429, 502, 503, 504].includes(response.status), `${response.status} ${body}`);
    assertEquals(typeof JSON.parse(body).error.message, "string");
    assert(!body.includes("<html"), body);
    return "refused";
  }
  if (!stream) {
    assertEquals(JSON.parse(body).choices[0].message.content, `You said ${text}`);
    return "served";
  }
  const frames = [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => data!);
  const broken = frames.some((data) => data.startsWith('{"error"'));
  assertEquals(frames.at(-1) === "[DONE]", !broken, body);
  if (broken) return frames.some((data) => data.includes('"content":"You')) ? "broken off" : "refused";
  const words = frames.slice(0, -1).map((data) => JSON.parse(data).choices[0]?.delta.content ?? "").join("");
  assertEquals(words, `You said ${text}`);
  return "served";
}

Deno.test(`chaos: every request is served unless all its targets failed, or two of them at work (seed ${SEED}, ${REQUESTS} requests)`, async () => {
  const luck = fc.sample(fates, { seed: SEED, numRuns: REQUESTS * 9 });
  const next = () => luck.shift() ?? "well";
  const upstreams = [startFlaky(next), startFlaky(next), startFlaky(next)];
  const timeouts = { headMs: SILENCE_MS, firstEventMs: SILENCE_MS, idleMs: SILENCE_MS, wholeMs: SILENCE_MS };
  const config = {
    upstreams: Object.fromEntries(
      upstreams.map(({ baseUrl }, index) => [`up${index}`, { driver: "chat", baseUrl, timeouts }]),
    ),
    lanes: {
      oss: {
        models: {
          any: { task: "chat" as const, targets: [0, 1, 2].map((index) => ({ upstream: `up${index}`, model: "m" })) },
        },
      },
    },
  };
  const outcomes: Outcome[] = [];
  const metBy = (index: number) =>
    upstreams.map(({ met }) => met.filter(({ request }) => request === `request ${index}`).map(({ fate }) => fate));
  let met: Fate[][][] = [];
  try {
    await withGateway(config, async ({ url }) => {
      await inParallel(REQUESTS, WIDTH, async (index) => {
        outcomes[index] = await ask(url, `request ${index}`, index % 2 === 0);
      });
      // Upstreams that the gateway gave up may see so later than the client has its answer.
      const isSettled = () => {
        met = outcomes.map((_, index) => metBy(index));
        return met.every((fates, index) =>
          fates.flat().filter((fate) => fate === "well").length <= (outcomes[index] === "served" ? 1 : 0)
        );
      };
      await until(isSettled).catch(() => {}); // What is wrong is reported below.
    });
  } finally {
    await Promise.all(upstreams.map((upstream) => upstream.stop()));
  }

  for (const [index, outcome] of outcomes.entries()) {
    const fates = met[index]!;
    const where = `request ${index}: ${outcome}, ${JSON.stringify(fates)}`;
    for (const fatesThere of fates) {
      const taken = fatesThere.findIndex((fate) => !UNTAKEN.has(fate));
      assert(taken < 0 || taken === fatesThere.length - 1, `posted again to an upstream that had taken it: ${where}`);
    }
    const all = fates.flat();
    const failed = (fate: Fate) => fate !== "well";
    if (outcome === "served") {
      const wells = all.filter((fate) => !failed(fate)).length;
      // A connection that served long ago may be closed by now.
      assert(wells === 1 || (wells === 0 && all.includes("late")), where);
    }
    if (outcome === "broken off") assert(all.includes("cut") || all.includes("late"), where);
    if (outcome === "refused") {
      assert(all.every(failed), where);
      // After a first failure that may have cost something one other target is asked, and after a second nobody.
      const costly = all.filter((fate) => !UNTAKEN.has(fate)).length;
      assert(costly === MOST_COSTLY || fates.every((there) => there.length > 0), where);
    }
    assert(all.filter((fate) => failed(fate) && !UNTAKEN.has(fate)).length <= MOST_COSTLY, where);
  }
  const count = (wanted: Outcome) => outcomes.filter((outcome) => outcome === wanted).length;
  report(
    `${REQUESTS} requests, ${upstreams.flatMap(({ met }) => met).length} calls: ${count("served")} served, ` +
      `${count("refused")} refused, ${count("broken off")} cut after their first words`,
  );
});
