/** What keys used: as they see it, as operators see it, and as the command prints it. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { tableOf } from "../../src/cli/usage.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { createUsageBook, type UsageRow } from "../../src/state/usage_book.ts";
import { CHAT, chatBody, CONFIG, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { ANSWER, answerWhole } from "../support/chat.ts";
import { runLaunched } from "../support/process.ts";

const DAY_MS = 86_400_000;

const KEYED = {
  ...CONFIG,
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "anna", secret: { env: "GUEST_KEY" } },
  ],
  usage: {},
  lanes: {
    oss: {
      models: {
        model: {
          task: "chat" as const,
          targets: [{ upstream: "fake", model: "org/model" }],
          price: { input: 2, output: 6 },
        },
        free: { task: "chat" as const, targets: [{ upstream: "fake", model: "org/free" }] },
      },
    },
  },
};
const [OPS, ANNA] = [ENV.TEAM_KEY!, ENV.GUEST_KEY!].map((key) => ({ "x-api-key": key })) as [object, object];

async function ask(app: TestApp, key: object, model = "model"): Promise<void> {
  await (await app.post(CHAT, chatBody({ model }), key as HeadersInit)).text();
}

async function usageOf(app: TestApp, key: object, query = ""): Promise<Record<string, unknown>[]> {
  return (await (await app.get(`/usage${query}`, key as HeadersInit)).json()).data;
}

Deno.test("usage: a key sees its own, at once; an operator sees all", async () => {
  const app = newApp({ config: KEYED, fetch: () => Promise.resolve(answerWhole()) });
  try {
    await ask(app, ANNA);
    await ask(app, ANNA);
    await ask(app, ANNA, "free");
    await ask(app, OPS);
    const { prompt_tokens, completion_tokens } = ANSWER.usage;
    const day = new Date(NOW).toISOString().slice(0, 10);
    const tokens = (times: number) => ({ inputTokens: times * prompt_tokens, outputTokens: times * completion_tokens });
    const own = [
      { day, key: "anna", model: "model", requests: 2, ...tokens(2), dollars: "0.000032" },
      { day, key: "anna", model: "free", requests: 1, ...tokens(1), unpricedRequests: 1 },
    ];
    assertEquals(await usageOf(app, ANNA), own);
    assertEquals(await usageOf(app, ANNA, "?key=ops"), own);
    const ops = { day, key: "ops", model: "model", requests: 1, ...tokens(1), dollars: "0.000016" };
    assertEquals(await usageOf(app, OPS), [...own, ops]);
    assertEquals(await usageOf(app, OPS, "?key=anna"), own);
    assertEquals((await app.get("/usage")).status, 401);
    assertEquals((await app.get("/usage?days=no", ANNA as HeadersInit)).status, 400);
  } finally {
    await app.close();
  }
});

Deno.test("usage: what failed is not in it, and nothing is kept where it is not wanted", async () => {
  const failing = newApp({ config: KEYED, fetch: () => Promise.resolve(new Response("no", { status: 400 })) });
  try {
    await ask(failing, ANNA);
    await ask(failing, ANNA, "unknown");
    assertEquals(await usageOf(failing, ANNA), []);
  } finally {
    await failing.close();
  }
  const off = newApp({ config: CONFIG });
  assertEquals((await off.get("/usage")).status, 404);
});

Deno.test("usage: to have tokens counted uses no model, also where an upstream counts them", async () => {
  const upstreams = { fake: { ...CONFIG.upstreams.fake, counter: "tokenize" as const } };
  const app = newApp({
    config: { ...KEYED, upstreams },
    fetch: () => Promise.resolve(Response.json({ count: 5, max_model_len: 9, tokens: [1] })),
  });
  try {
    const { messages } = chatBody() as { messages?: unknown };
    const response = await app.post("/oss/v1/messages/count_tokens", { model: "model", messages }, ANNA as HeadersInit);
    assertEquals([await response.json(), app.logs[0]!.target], [{ input_tokens: 5 }, "fake/org/model"]);
    assertEquals(await usageOf(app, ANNA), []);
  } finally {
    await app.close();
  }
});

const ROW: UsageRow = {
  day: "2027-01-15",
  key: "anna",
  model: "m",
  requests: 1,
  inputTokens: 5,
  outputTokens: 7,
  pico: 100_000_000_000n,
  unpriced: 0,
  estimated: 0,
};

Deno.test("usage: gateways on one store add up, through restarts, and old days go", async () => {
  const clock = { now: Date.parse("2027-01-15T23:59:59Z") };
  const store = createMemoryStore({ now: () => clock.now, limitBytes: 2 ** 20 });
  const open = () => createUsageBook({ store, now: () => clock.now, retentionDays: 2, patienceMs: 1_000 });
  const books = [open(), open()];
  for (let index = 0; index < 10; index++) books[index % 2]!.add(ROW);
  await Promise.all(books.map((book) => book.close()));
  assertEquals(await open().read(2), [{
    ...ROW,
    requests: 10,
    inputTokens: 50,
    outputTokens: 70,
    pico: 1_000_000_000_000n,
  }]);
  clock.now += 2 * DAY_MS;
  const later = open();
  later.add({ ...ROW, day: "2027-01-17" });
  assertEquals((await later.read(30)).map(({ day }) => day), ["2027-01-17"]);
});

Deno.test("usage: a store that fails loses nothing of what it has not taken", async () => {
  const now = () => Date.parse("2027-01-15T12:00:00Z");
  const store = createMemoryStore({ now, limitBytes: 2 ** 20 });
  let isDown = true;
  const shaky = {
    ...store,
    update: (...args: Parameters<typeof store.update>) =>
      isDown ? Promise.reject(new Error("down")) : store.update(...args),
  };
  const book = createUsageBook({ store: shaky, now, retentionDays: 2, patienceMs: 1_000 });
  book.add(ROW);
  await book.close();
  isDown = false;
  book.add(ROW);
  assertEquals((await book.read(1)).map(({ requests }) => requests), [2]);
});

Deno.test("usage: a store that answers late counts nothing twice, and one that refuses late loses nothing", async () => {
  const now = () => Date.parse("2027-01-15T12:00:00Z");
  for (const refuses of [false, true]) {
    const store = createMemoryStore({ now, limitBytes: 2 ** 20 });
    const late = Promise.withResolvers<void>();
    let calls = 0;
    const slow = {
      ...store,
      async update(...args: Parameters<typeof store.update>) {
        const isFirst = calls++ === 0;
        if (isFirst) await late.promise;
        if (isFirst && refuses) throw new Error("refused");
        await store.update(...args);
      },
    };
    const book = createUsageBook({ store: slow, now, retentionDays: 2, patienceMs: 10 });
    book.add(ROW);
    await assertRejects(() => book.read(1));
    book.add(ROW);
    await assertRejects(() => book.read(1));
    late.resolve();
    const settled = async () => (await book.read(1).catch(() => [])).map(({ requests }) => requests);
    let requests = await settled();
    for (let tries = 0; tries < 20 && requests.length === 0; tries++) requests = await settled();
    assertEquals(requests, [2]);
  }
});

Deno.test("usage: names as long as clients like and tokens as many as upstreams like are kept in a store", async () => {
  const now = () => Date.parse("2027-01-15T12:00:00Z");
  const store = createMemoryStore({ now, limitBytes: 700_000 });
  const book = createUsageBook({ store, now, retentionDays: 2, patienceMs: 1_000 });
  for (let index = 0; index < 600; index++) {
    book.add({ ...ROW, model: `${index} ${"\u0001".repeat(508)}`, inputTokens: Number.MAX_SAFE_INTEGER });
  }
  await book.read(1);
  book.add({ ...ROW, model: "\u0001".repeat(508) });
  const { MAX_SAFE_INTEGER: most } = Number;
  assertEquals((await book.read(1)).map((row) => [row.model, row.requests, row.inputTokens]), [["other", 601, most]]);
});

Deno.test("usage: the table sums by a column, and what has no price has no dollars", () => {
  const rows = [ROW, { ...ROW, key: "ben", model: "n", pico: 0n, unpriced: 1 }, { ...ROW, day: "2027-01-14" }];
  assertEquals(tableOf(rows, "key"), [
    ["key", "requests", "input tokens", "output tokens", "dollars"],
    ["anna", "2", "10", "14", "0.2"],
    ["ben", "1", "5", "7", ""],
  ]);
  assertEquals(tableOf(rows).length, 4);
});

Deno.test("usage: a model's name steers no terminal", () => {
  const row: UsageRow = {
    day: "2027-01-31",
    key: "anna",
    model: "\x1b[2Ja\u202eb\n",
    requests: 1,
    inputTokens: 1,
    outputTokens: 1,
    pico: 0n,
    unpriced: 0,
    estimated: 0,
  };
  assertEquals(tableOf([row], "model")[1]![0], "\\u001b[2Ja\\u202eb\\u000a");
});

Deno.test("usage: the command prints what the store has", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/store.sqlite3`;
    const config = { extends: "default", usage: {}, store: { path } };
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
    const { openKvFile } = await import("../../src/state/kv_file.ts");
    const { createKvStore } = await import("../../src/state/kv_store.ts");
    const store = createKvStore({ open: () => openKvFile(path), now: Date.now });
    const book = createUsageBook({ store, now: Date.now, retentionDays: 90, patienceMs: 10_000 });
    book.add({ ...ROW, key: '=cmd,"x"', day: new Date().toISOString().slice(0, 10) });
    await book.close();
    store.close();
    const run = (...args: string[]) => runLaunched(["usage", ...args], { cwd: folder });
    const { code, stdout, stderr } = await run("--by", "key", "--csv");
    assertEquals({ code, stdout, stderr }, {
      code: 0,
      stdout: 'key,requests,input tokens,output tokens,dollars\n"\'=cmd,""x""",1,5,7,0.1\n',
      stderr: "",
    });
    const wrong = await run("--by", "size");
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.stderr, "--by day|key|model");
    const unknown = await run("--bye=key");
    assertEquals(unknown.code, 2);
    assertStringIncludes(unknown.stderr, "Unknown option '--bye'");
    const helped = await run("--help");
    assertEquals(helped.code, 0);
    assertStringIncludes(helped.stdout, "--by key|model|day");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("usage: ten thousand keys have rows of their own, and further ones share the rows of one", async () => {
  const now = () => Date.parse("2027-01-15T12:00:00Z");
  const store = createMemoryStore({ now, limitBytes: 2 ** 24 });
  await store.update(["usage", "keys"], () => Array.from({ length: 9_999 }, (_, at) => `oidc:${at}`));
  const book = createUsageBook({ store, now, retentionDays: 2, patienceMs: 10_000 });
  for (const key of ["anna", "ben", "carl", "anna", "ben"]) book.add({ ...ROW, key });
  const requests = (await book.read(1)).map(({ key, requests }) => [key, requests]);
  assertEquals(requests, [["anna", 2], ["other", 3]]);
});
