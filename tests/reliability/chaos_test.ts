import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { inParallel, withGateway } from "./gateway.ts";
import { type Fate, fates, NOT_PROCESSED, startFlaky } from "./flaky.ts";
import { report, scaled } from "./scale.ts";

const SEED = 20261121;
/** The simulation has more such worlds; these have sockets. */
const REQUESTS = scaled(2_000, 100, 500);
const WIDTH = 20;
/** After how long an upstream is given up. */
const SILENCE_MS = 2_000;
/** What a timer may be too early. */
const TIMER_MS = 10;

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
  /** How long the client waited, in milliseconds. */
  const waits: number[] = [];
  try {
    await withGateway(config, async ({ url }) => {
      await inParallel(REQUESTS, WIDTH, async (index) => {
        const begun = performance.now();
        outcomes[index] = await ask(url, `request ${index}`, index % 2 === 0);
        waits[index] = performance.now() - begun;
      });
    });
  } finally {
    await Promise.all(upstreams.map((upstream) => upstream.stop()));
  }

  for (const [index, outcome] of outcomes.entries()) {
    const fates = upstreams.map(({ met }) =>
      met.filter(({ request }) => request === `request ${index}`).map(({ fate }) => fate)
    );
    const where = `request ${index}: ${outcome} in ${Math.round(waits[index]!)} ms, ${JSON.stringify(fates)}`;
    for (const fatesThere of fates) {
      const taken = fatesThere.findIndex((fate) => !NOT_PROCESSED.has(fate));
      assert(taken < 0 || taken === fatesThere.length - 1, `posted again to an upstream that had taken it: ${where}`);
    }
    const all = fates.flat();
    const count = (wanted: Fate) => all.filter((fate) => fate === wanted).length;
    // On a busy machine the gateway gives up upstreams that are well, or have not read the request. Each takes its time.
    const givenUp = count("well") - (outcome === "served" ? 1 : 0);
    const unseen = Math.floor((waits[index]! + TIMER_MS) / SILENCE_MS) - count("hang") - givenUp;
    assert(givenUp === 0 || (givenUp > 0 && unseen >= 0), where);
    const costly = all.filter((fate) => fate !== "well" && !NOT_PROCESSED.has(fate)).length + givenUp;
    assert(costly <= MOST_COSTLY, where);
    if (outcome === "broken off") assert(all.includes("cut") || givenUp > 0, where);
    // After a first failure that may have cost something one other target is asked, and after a second nobody.
    const isOver = costly + unseen >= MOST_COSTLY || fates.every((there) => there.length > 0);
    if (outcome === "refused") assert(isOver, where);
  }
  const count = (wanted: Outcome) => outcomes.filter((outcome) => outcome === wanted).length;
  report(
    `${REQUESTS} requests, ${upstreams.flatMap(({ met }) => met).length} calls: ${count("served")} served, ` +
      `${count("refused")} refused, ${count("broken off")} cut after their first words`,
  );
});
