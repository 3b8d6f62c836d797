/** Many requests at once that each take long: others have their turns in between, and callers take turns. */
import { assertEquals, assertGreater } from "@std/assert";
import { CHAT, chatBody, CONFIG, ENV, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const MODELS = 3_000;
const AT_ONCE = 6;

const target = { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } as const;
const models = Object.fromEntries(Array.from({ length: MODELS }, (_, index) => [`org/model-${index}`, target]));
const config = {
  ...CONFIG,
  lanes: { oss: { models: { ...CONFIG.lanes.oss.models, ...models } } },
  keys: [{ name: "greedy", secret: { env: "TEAM_KEY" }, operator: true }, {
    name: "other",
    secret: { env: "GUEST_KEY" },
  }],
  console: { record: {} },
};
const [GREEDY, OTHER] = [ENV.TEAM_KEY!, ENV.GUEST_KEY!].map((key) => ({ authorization: `Bearer ${key}` }));

/** How many turns others had between two answers, at least. */
async function turnsBetween(answers: readonly Promise<Response>[]): Promise<number> {
  let [turns, isOver] = [0, false];
  const others = (async () => {
    for (; !isOver; turns++) await new Promise((resolve) => setTimeout(resolve));
  })();
  const ends = await Promise.all(answers.map(async (answer) => {
    const { status } = await answer;
    assertEquals(status, 200);
    return turns;
  }));
  isOver = true;
  await others;
  await Promise.all(answers.map(async (answer) => (await answer).body?.cancel()));
  const sorted = ends.toSorted((a, b) => a - b);
  return Math.min(...sorted.slice(1).map((end, index) => end - sorted[index]!));
}

for (const path of ["/oss/v1/models", "/oss/v1beta/models", "/oss/api/tags"]) {
  Deno.test(`many at once: between two long lists of models at ${path} others have their turns`, async () => {
    const app = newApp({ config });
    await (await app.get(path, GREEDY)).body?.cancel();
    assertGreater(await turnsBetween(Array.from({ length: AT_ONCE }, () => app.get(path, GREEDY))), 1);
  });
}

Deno.test("many at once: between two looks at a recording others have their turns", async () => {
  const app = newApp({ config, fetch: fakeUpstream(() => answerWhole()).fetch });
  await (await app.post(CHAT, chatBody(), OTHER)).text();
  const { data: [{ id }] } = await (await app.get("/console/api/records", GREEDY)).json();
  for (const part of ["", "/understood", "/request", "/text"]) {
    const path = `/console/api/record${part}?id=${id}&part=request`;
    await (await app.get(path, GREEDY)).body?.cancel();
    assertGreater(await turnsBetween(Array.from({ length: AT_ONCE }, () => app.get(path, GREEDY))), 1, path);
  }
});

Deno.test("many at once: a key's misspelt name does not wait for all those of another key", async () => {
  const app = newApp({ config });
  const ended: string[] = [];
  const ask = async (name: string, headers: HeadersInit) => {
    const response = await app.post(CHAT, { ...chatBody(), model: "org/modle-7" }, headers);
    assertEquals([response.status, (await response.text()).includes("Did you mean")], [404, true]);
    ended.push(name);
  };
  await Promise.all([...Array.from({ length: 20 }, () => ask("greedy", GREEDY!)), ask("other", OTHER!)]);
  assertGreater(5, ended.indexOf("other"));
});
