/** One key's flood leaves the others their places at an upstream. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { until, within } from "../support/wait.ts";

const CONCURRENCY = { running: 4, waiting: 4, waitMs: 60_000 };
const CONFIGURED: ConfigInput = {
  ...CONFIG,
  upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, concurrency: CONCURRENCY } },
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }],
};
const KINDS = {
  conversations: { path: CHAT, body: chatBody(), answer: answerWhole },
  completions: {
    path: "/oss/v1/completions",
    body: { model: "model", prompt: "a" },
    answer: () => Response.json({ choices: [{ index: 0, text: "b", finish_reason: "stop" }] }),
  },
};

for (const [kind, { path, body, answer }] of Object.entries(KINDS)) {
  Deno.test(`shares of an upstream: ${kind} of one key leave places to those of another`, async () => {
    const gate = Promise.withResolvers<void>();
    const upstream = fakeUpstream(async ({ headers }: Asked) => {
      if (headers.get("x-team") !== "guest") await gate.promise;
      return answer();
    });
    const app = newApp({
      config: CONFIGURED,
      // The upstream is not told whose request it is.
      fetch: (input, init) => {
        const request = new Request(input, init);
        request.headers.set("x-team", asking);
        return upstream.fetch(request);
      },
    });
    let asking = "team";
    const ask = (key: string) => app.post(path, body, { authorization: `Bearer ${ENV[key]}` });
    const flood = Array.from({ length: 10 }, () => ask("TEAM_KEY"));
    // Three run and three wait. The others are refused at once.
    await until(() => upstream.asked.length === 3 && app.logs.length === 4);
    asking = "guest";
    assertEquals((await within(ask("GUEST_KEY"))).status, 200);
    assertEquals(upstream.asked.length, 4);
    asking = "team";
    gate.resolve();
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    assertEquals(Object.entries(Object.groupBy(statuses, String)).map(([status, all]) => [status, all!.length]), [
      ["200", 6],
      ["503", 4],
    ]);
    const refused = await (await Promise.all(flood)).find(({ status }) => status === 503)!.text();
    const word = kind === "completions" ? "completions" : "requests";
    assertStringIncludes(refused, `Upstream \\"fake\\" is busy: 3 ${word} of this caller wait, which is its share`);
  });
}

Deno.test("shares of an upstream: they hold once a second key is there, and what runs stays counted", async () => {
  const gate = Promise.withResolvers<void>();
  const upstream = fakeUpstream(async () => {
    await gate.promise;
    return answerWhole();
  });
  const { keys: [team, guest] } = CONFIGURED as { keys: NonNullable<ConfigInput["keys"]> };
  const first = newApp({ config: { ...CONFIGURED, keys: [team!] }, fetch: upstream.fetch });
  const ask = (app: typeof first, key: string) => app.post(CHAT, chatBody(), { authorization: `Bearer ${ENV[key]}` });
  const asked = [ask(first, "TEAM_KEY")];
  await until(() => upstream.asked.length === 1);
  const second = newApp({ config: { ...CONFIGURED, keys: [team!, guest!] }, fetch: upstream.fetch, after: first });
  for (let at = 0; at < 10; at++) asked.push(ask(second, "TEAM_KEY"));
  // With the one that has been running, three run and three wait.
  await until(() => upstream.asked.length === 3 && second.logs.length === 5);
  asked.push(ask(second, "GUEST_KEY"));
  await until(() => upstream.asked.length === 4);
  gate.resolve();
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assertEquals([statuses.at(-1), statuses.filter((status) => status === 200).length], [200, 7]);
});
