/** Files at several gateways on one server, with their contents in one folder or on the server. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import OpenAI, { toFile } from "openai";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { openRedisStore } from "../../../src/state/redis/open.ts";
import { randomId } from "../../../src/util/digest.ts";
import { CONFIG, type ConfigInput, ENV, newApp, NOW } from "../../support/app.ts";
import { answerWhole } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { withFolder, withLaunched } from "../../support/process.ts";
import { isRedisMissing, startRedis } from "../../support/redis_server.ts";

const SKIPPED = isRedisMissing ? " (skipped: there is no Redis server)" : "";
const KEYS = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }];
const PLACES = ["folder", "server"] as const;

interface Rig {
  /** Clients of the key `team` and of the key `guest`, each at the first and at the second gateway. */
  team: [OpenAI, OpenAI];
  guest: [OpenAI, OpenAI];
  /** What the model was sent last. */
  said(): string;
  clock: { time: number };
  /** How many contents there are in the folder, or on the server. */
  count(): Promise<number>;
}

function withGateways(
  place: typeof PLACES[number],
  limits: Omit<Exclude<ConfigInput["files"], false | undefined>, "folder">,
  use: (rig: Rig) => Promise<void>,
): Promise<void> {
  return withFolder(async (base) => {
    const server = await startRedis();
    const clock = { time: NOW };
    const now = () => clock.time;
    const folder = `${base}/files`;
    const upstream = fakeUpstream(() => answerWhole());
    // Without a server, a form has no declared length and may be as large as any.
    const roomy = { uploadBytes: 2 ** 33 };
    const config = {
      ...CONFIG,
      keys: KEYS,
      limits: roomy,
      files: { ...limits, ...(place === "folder" && { folder }) },
    };
    const gateways = [0, 1].map(() => {
      const store = openRedisStore({ address: parseRedisUrl(server.url)!, now });
      const { fetch } = upstream;
      return { store, app: newApp({ config, store, now, fetch, newId: randomId, pace: { storeMs: 600_000 } }) };
    });
    const clientsOf = (apiKey: string) =>
      gateways.map(({ app }) => {
        const fetchApp: typeof fetch = (input, init) => app.fetch(new Request(input, init));
        return new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey, maxRetries: 0, fetch: fetchApp });
      }) as [OpenAI, OpenAI];
    try {
      await use({
        team: clientsOf(ENV.TEAM_KEY!),
        guest: clientsOf(ENV.GUEST_KEY!),
        said: () => upstream.asked.at(-1)!.body,
        clock,
        count: async () => {
          if (place === "folder") return [...Deno.readDirSync(folder)].length;
          // The first piece of each content. Names of keys are hashed, but for the number of the piece.
          const keys = await server.ask("EVAL", "return #redis.call('KEYS', 'laneway:*:0')", "0");
          return Number(keys.replace(":", ""));
        },
      });
    } finally {
      for (const { app, store } of gateways) {
        await app.close();
        store.close();
      }
      await server.stop();
    }
  });
}

async function upload(client: OpenAI, text: string, seconds?: number) {
  return await client.files.create({
    file: await toFile(new TextEncoder().encode(text), "notes.txt", { type: "text/plain" }),
    purpose: "user_data",
    ...(seconds !== undefined && { expires_after: { anchor: "created_at", seconds } }),
  });
}

const asking = (file_id: string) => ({
  model: "model",
  messages: [{ role: "user" as const, content: [{ type: "file" as const, file: { file_id } }] }],
});

for (const place of PLACES) {
  Deno.test({
    name: `files, redis: what one gateway keeps, the other has, until it is deleted or expires · ${place}${SKIPPED}`,
    ignore: isRedisMissing,
    fn: () =>
      withGateways(place, {}, async ({ team: [one, two], guest: [, other], said, clock, count }) => {
        const text = `It was written in ${place}. `.repeat(20_000);
        const file = await upload(one, text);
        assertEquals((await two.files.list()).data, [file]);
        assertEquals(await (await two.files.content(file.id)).text(), text);
        await two.chat.completions.create(asking(file.id));
        assert(said().includes(`It was written in ${place}.`), said().slice(0, 300));
        await assertRejects(() => other.files.retrieve(file.id), OpenAI.NotFoundError);
        await assertRejects(() => other.chat.completions.create(asking(file.id)), OpenAI.BadRequestError);
        await two.files.delete(file.id);
        for (const client of [one, two]) {
          await assertRejects(() => client.files.content(file.id), OpenAI.NotFoundError);
          await assertRejects(() => client.chat.completions.create(asking(file.id)), OpenAI.BadRequestError);
        }
        assertEquals(await count(), 0);
        const brief = await upload(two, text, 3_600);
        clock.time += 3_600_000;
        await assertRejects(() => one.files.retrieve(brief.id), OpenAI.NotFoundError, "expired");
        assertEquals((await one.files.list()).data, []);
        await upload(other, "short");
        // The upload of another key removes what has expired. The server itself does so by its own clock.
        if (place === "folder") assertEquals(await count(), 1);
      }),
  });

  Deno.test({
    name: `files, redis: many uploads at once stay within the bounds of both gateways · ${place}${SKIPPED}`,
    ignore: isRedisMissing,
    fn: () =>
      withGateways(place, { bytesPerKey: 40_000, totalBytes: 60_000 }, async ({ team, guest, count }) => {
        const text = "x".repeat(6_000);
        // With what each counts beside its bytes, 4 of a key fit, and 6 of all keys.
        const results = await Promise.allSettled(
          Array.from({ length: 32 }, (_, at) => upload((at % 4 < 2 ? team : guest)[at % 2]!, text)),
        );
        for (const result of results) {
          if (result.status === "fulfilled") continue;
          assertEquals(result.reason.code, "storage_quota_exceeded", String(result.reason));
        }
        const kept = results.filter(({ status }) => status === "fulfilled").length;
        const held = async () =>
          await Promise.all(
            [team[0], team[1], guest[0], guest[1]].map(async (one) => (await one.files.list()).data.length),
          );
        const [mine, same, theirs, also] = await held();
        assertEquals([mine, theirs, mine! + theirs!], [same, also, kept]);
        assert(mine! <= 4 && theirs! <= 4 && kept <= 6, `${mine} and ${theirs} of ${kept}`);
        assertEquals(await count(), kept);
        // Whatever was refused has left its room to others: one after the other, they fill it.
        for (const client of [...team, ...team, ...guest, ...guest]) await upload(client, text).catch(() => {});
        const [first, , second] = await held();
        assertEquals([first! + second!, await count()], [6, 6]);
      }),
  });
}

Deno.test({
  name: `files, redis: two gateways as they are started may read and write their folder${SKIPPED}`,
  ignore: isRedisMissing,
  fn: () =>
    withFolder(async (cwd) => {
      const server = await startRedis();
      const store = { kind: "redis", url: { env: "STORE_URL" } };
      const files = { folder: `${cwd}/shared/files` };
      await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify({ extends: "default", store, files }));
      const options = { cwd, env: { STORE_URL: server.url } };
      const clientAt = (url: string) => new OpenAI({ baseURL: `${url}/oss/v1`, apiKey: "any", maxRetries: 0 });
      try {
        await withLaunched([], options, async ({ url: first }) => {
          await withLaunched([], options, async ({ url: second }) => {
            const [one, two] = [clientAt(first), clientAt(second)];
            const { id } = await upload(one, "shared");
            assertEquals(await (await two.files.content(id)).text(), "shared");
            const { choices } = await two.chat.completions.create({ ...asking(id), model: "sandbox" });
            assertEquals(choices.length, 1);
            await two.files.delete(id);
            await assertRejects(() => one.files.retrieve(id), OpenAI.NotFoundError);
            assertEquals([...Deno.readDirSync(files.folder)], []);
          });
        });
      } finally {
        await server.stop();
      }
    }),
});
