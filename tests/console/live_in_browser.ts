/** The page of live requests in a browser: its filters, its columns, its order, and its charts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Page } from "playwright-core";
import { CHAT, chatBody, CONFIG, newApp, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Case, type Desk, faultsOf, lastingStore, logIn, OPS } from "./desk.ts";
import { served } from "./served.ts";

const EVIL = `<img src=x onerror="document.title='broken'">`;

/** Five requests of two models and two clients, of which one failed; the last one names itself as an attacker would. */
async function answerFive(page: Page): Promise<void> {
  const one = (number: number, more: object) => ({
    number,
    id: `req_${number}`,
    time: new Date(Date.now() - (10 - number) * 5_000).toISOString(),
    path: CHAT,
    model: number % 2 ? "odd" : "even",
    client: "agent one/1.0",
    status: 200,
    durationMs: 100 * number,
    usage: { inputTokens: 1_000 * number, outputTokens: 5 },
    cost: `0.000${number}`,
    ...more,
  });
  const ended = [
    one(1, {}),
    one(2, { status: 503, error: "unavailable", usage: undefined }),
    one(3, { client: "other/2" }),
    one(4, {}),
    one(5, { model: EVIL, client: `"${EVIL}` }),
  ];
  await page.route(
    /api\/live/,
    (route) => route.fulfill({ json: { now: Date.now(), feed: "five", next: 6, running: [], ended } }),
  );
}

const modelsOf = (page: Page) => page.locator("tbody tr [data-column=model]").allTextContents();
const shows = (page: Page, count: number) =>
  page.getByText(`Requests, latest first: ${count}`, { exact: true }).waitFor();

async function filtered(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await answerFive(page);
  await shows(page, 5);
  const conditions = page.getByRole("group", { name: "Conditions and columns" });
  await conditions.getByRole("button", { name: "Client", exact: true }).click();
  assertEquals(await faultsOf(page), []);
  await page.getByRole("menuitem", { name: "agent one/1.0 (3)" }).press("Enter");
  await shows(page, 3);
  assertStringIncludes(decodeURIComponent(page.url()), '#live?client:"agent one/1.0"');
  await page.getByLabel("Filter").fill("even 200");
  await shows(page, 1);
  // The figures above the list are those of the requests that fit.
  const figures = page.getByRole("list", { name: "Figures of the time that is shown" });
  await figures.getByText("$0.0004").waitFor();
  await page.reload();
  await shows(page, 1);
  assertEquals(await page.getByLabel("Filter").inputValue(), "even 200");
  await page.getByRole("button", { name: "Remove Client agent one/1.0" }).press("Enter");
  await page.getByLabel("Filter").fill("status:error");
  await shows(page, 1);
  await page.getByRole("button", { name: "Remove Status error" }).waitFor();
  await page.getByLabel("Filter").fill("nothing");
  await page.getByRole("button", { name: "Show all" }).click();
  await shows(page, 5);
  await conditions.getByRole("button", { name: "Model", exact: true }).click();
  await page.getByRole("menuitem", { name: "<img" }).press("Enter");
  await shows(page, 1);
  assertEquals([await page.locator("img").count(), await page.title()], [0, "Live · Laneway"]);
}

async function arranged(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await answerFive(page);
  await shows(page, 5);
  await page.getByRole("columnheader", { name: "Duration" }).getByRole("button").press("Enter");
  assertEquals((await modelsOf(page)).slice(1), ["even", "odd", "even", "odd"]);
  assertEquals(await page.getByRole("columnheader", { name: "Duration" }).getAttribute("aria-sort"), "descending");
  // The request without usage comes last in either order.
  await page.getByRole("columnheader", { name: "Input" }).getByRole("button").click();
  await page.getByRole("columnheader", { name: "Input" }).getByRole("button").click();
  const inputs = await page.locator("tbody tr [data-column=input]").allTextContents();
  assertEquals(inputs, ["1,000", "3,000", "4,000", "5,000", ""]);
  await page.getByRole("button", { name: "Columns" }).press("Enter");
  await page.getByRole("checkbox", { name: "Lane" }).check();
  await page.getByRole("checkbox", { name: "Input" }).uncheck();
  assertEquals(await faultsOf(page), []);
  await page.keyboard.press("Escape");
  assertEquals(await page.getByRole("checkbox", { name: "Lane" }).count(), 0);
  await page.reload();
  await shows(page, 5);
  await page.getByRole("columnheader", { name: "Lane" }).waitFor();
  assertEquals(await page.getByRole("columnheader", { name: "Input" }).count(), 0);
}

/** All columns that are shown at first are in sight, and a chart's numbers can be read at the pointer and without one. */
async function fits(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await answerFive(page);
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await shows(page, 5);
    const over = await page.getByRole("region", { name: "Requests" }).evaluate(({ scrollWidth, clientWidth }) =>
      scrollWidth - clientWidth
    );
    assertEquals(over, 0, `The table is wider than a window of ${width}`);
    const conditions = page.getByRole("group", { name: "Conditions and columns" });
    for (const name of ["Status", "Model", "Client", "Columns"]) {
      await conditions.getByRole("button", { name, exact: true }).click();
      const { x, width: wide } = (await page.locator(".menu").boundingBox())!;
      assert(x >= 0 && x + wide <= width, `The menu ${name} leaves a window of ${width}`);
      await page.keyboard.press("Escape");
      await page.locator(".menu").waitFor({ state: "detached" });
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.reload();
  await page.locator(".chart canvas").nth(2).waitFor();
  const drawn = await page.locator(".chart canvas").count();
  assert(drawn === 3, `${drawn} charts are drawn`);
  await page.getByRole("img", { name: /^Requests: at most 0\.\d\/s, now All/ }).hover();
  await page.locator(".tip").getByText("Errors").waitFor();
  await page.getByText("Charts as a table").click();
  const numbers = page.getByRole("region", { name: "The charts' numbers" });
  await numbers.getByRole("columnheader", { name: "Errors" }).waitFor();
  assertEquals((await numbers.locator("tbody tr td:nth-child(3)").allTextContents()).filter((text) => text !== "0"), [
    "1",
  ]);
  assertEquals(await faultsOf(page), []);
  const show = page.getByRole("combobox", { name: /^Show/ });
  await show.selectOption("dollars");
  await page.getByRole("img", { name: /^Cost: at most \$0\.000\d/ }).waitFor();
  await show.selectOption("hits");
  await page.getByRole("img", { name: /^Cache hits: at most/ }).waitFor();
  await page.getByRole("button", { name: "Errors by kind" }).click();
  await page.getByRole("img", { name: /^Requests: at most 0\.1\/s, now unavailable 0\/s$/ }).waitFor();
}

/** Whoever drags over a chart gets the requests of that time, and the charts go back as far as sums are kept. */
async function goneBack(desk: Desk): Promise<void> {
  const { page } = desk;
  await fillOf.get(desk.app)!();
  await logIn(desk);
  // Until the list has come it says that there are none.
  const caption = page.getByText(/^Requests, latest first: [1-9]\d*$/);
  const numberOf = async () => Number((await caption.textContent())!.match(/\d+$/)![0]);
  await page.locator(".chart canvas").first().waitFor();
  const all = await numberOf();
  const area = (await page.locator(".u-over").first().boundingBox())!;
  await page.mouse.move(area.x + area.width * 0.4, area.y + 30);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.6, area.y + 30, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("button", { name: /^Remove Ended/ }).waitFor();
  assertMatch(decodeURIComponent(page.url()), /#live\?time:\d+-\d+$/);
  const some = await numberOf();
  assert(0 < some && some < all, `${some} of ${all}`);
  const figures = page.getByRole("list", { name: "Figures of the time that is shown" });
  assertEquals(
    await figures.getByRole("listitem").filter({ hasText: "Requests" }).locator("b").textContent(),
    `${some}`,
  );
  await page.getByRole("button", { name: "7 d", exact: true }).click();
  const long = page.getByRole("img", { name: /^Errors by kind: at most [1-9]/ });
  await long.waitFor();
  assertEquals(await faultsOf(page), []);
  await page.reload();
  await long.waitFor();
  await page.getByLabel("Filter").fill("model:kimi-k3");
  await page.getByRole("link", { name: "Group and compare these sums in Usage" }).click();
  await page.getByRole("button", { name: "Remove Model kimi-k3" }).waitFor();
  await page.getByRole("button", { name: "Remove Model kimi-k3" }).click();
  await page.getByRole("link", { name: "Requests of glm-5.3 in Live" }).click();
  await page.getByRole("button", { name: "Remove Model glm-5.3" }).waitFor();
  assert(await numberOf() < all);
}

/** A request leads to the conversation that it is a turn of. */
async function followed(desk: Desk): Promise<void> {
  const { page } = desk;
  await fillOf.get(desk.app)!();
  await logIn(desk);
  await page.getByLabel("Filter").fill("model:glm-5.3 claude-cli");
  await page.getByRole("button", { name: /details$/ }).first().click();
  await page.getByRole("dialog").getByText(/^\$0\.\d+$/).waitFor();
  await page.getByRole("link", { name: "Open its session" }).click();
  await page.getByRole("heading", { name: /^Session 5f2c9a41/ }).waitFor();
  await page.getByText("9,622 tokens were read again: the instructions changed.").first().waitFor();
  await page.locator(".turn:focus").getByRole("heading", { name: "Turn 6" }).waitFor();
  const grown = page.getByRole("listitem").filter({ hasText: "+1,951 tokens" });
  await grown.getByText("result of read_file").waitFor();
  await grown.getByRole("button", { name: "Turn 3" }).press("Enter");
  await page.locator(".turn:focus").getByRole("heading", { name: "Turn 3" }).waitFor();
  assertEquals(await faultsOf(page), []);
}

/** Requests that are no plain conversations say what they are, and no figure of latency counts those that run no model. */
async function idle(desk: Desk): Promise<void> {
  const { page, app } = desk;
  await logIn(desk);
  const headers = { "x-api-key": OPS };
  await (await app.post("/oss/v1/messages/count_tokens", chatBody(), headers)).text();
  await (await app.get("/oss/v1/models", headers)).text();
  await shows(page, 2);
  assertEquals((await modelsOf(page)).map((text) => text.trim().replaceAll(/\s+/g, " ")), [
    "model list",
    "model (token count)",
  ]);
  const duration = page.getByRole("list", { name: "Figures of the time that is shown" }).getByRole("listitem")
    .filter({ hasText: "Duration" });
  assertStringIncludes((await duration.textContent())!, "95 %: –");
  await (await app.post("/oss/v1/completions", { model: "sandbox", prompt: "one" }, headers)).text();
  await shows(page, 3);
  assertStringIncludes((await modelsOf(page))[0]!, "(completion)");
  await (await app.post(CHAT, chatBody(), headers)).text();
  await duration.filter({ hasText: /95 %: \d/ }).waitFor();
}

/** An unknown price is no price of zero, and a client that did not wait has a word. */
async function unpriced(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  const one = { path: CHAT, model: "model", durationMs: 5, usage: { inputTokens: 1, outputTokens: 5 } };
  const time = new Date().toISOString();
  const ended = [
    { ...one, number: 1, id: "one", time, status: 200 },
    { ...one, number: 2, id: "two", time, status: 499, error: "client_closed" },
  ];
  await page.route(
    /api\/live/,
    (route) => route.fulfill({ json: { now: Date.now(), feed: "two", next: 3, running: [], ended } }),
  );
  await shows(page, 2);
  assertEquals(await page.locator("tbody [data-column=cost]").allTextContents(), ["–", "–"]);
  await page.locator("tbody [data-column=status]").getByText("499 client left", { exact: true }).waitFor();
  const figures = page.getByRole("list", { name: "Figures of the time that is shown" });
  assertStringIncludes((await figures.getByRole("listitem").filter({ hasText: "Cost" }).textContent())!, "–");
}

/** A gateway that keeps no sums says how to keep them. */
async function notKept(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await answerFive(page);
  await page.getByRole("button", { name: "24 h" }).click();
  await page.getByRole("button", { name: "Record usage" }).waitFor();
  await page.getByRole("link", { name: "The last 5 minutes" }).click();
  await page.getByRole("img", { name: /^Latency/ }).waitFor();
}

const app = () =>
  newApp({ config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] } });

const answering = () =>
  newApp({
    config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] },
    now: Date.now,
    fetch: () => Promise.resolve(answerWhole()),
  });

const kept = lastingStore();
const lasting = () =>
  newApp({
    config: { ...CONFIG, usage: {}, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] },
    store: kept,
    now: Date.now,
    fetch: () => Promise.resolve(answerWhole()),
  });

/** Charts that are asked for while the gateway is away come once it is back. */
async function askedAway(desk: Desk): Promise<void> {
  const { page, app } = desk;
  await logIn(desk);
  await (await app.post(CHAT, chatBody(), { "x-api-key": OPS })).text();
  await shows(page, 1);
  await desk.stop();
  await page.getByRole("button", { name: "24 h" }).click();
  await page.locator("#state", { hasText: "The gateway is not responding" }).waitFor();
  await page.locator(".toast", { hasText: "The gateway is not responding" }).waitFor();
  desk.start();
  await page.getByRole("img", { name: /^Errors by kind/ }).waitFor();
  await page.locator("#state:empty").waitFor({ state: "attached" });
}

/** How each gateway that is in use is filled: several cases run at once. */
const fillOf = new WeakMap<TestApp, () => Promise<void>>();
const inUse = () => {
  const { app, fill } = served();
  fillOf.set(app, fill);
  return app;
};

export const liveCases: readonly Case[] = [
  { name: "live: conditions are chosen, stand in the address, and hold for the charts, too", app, run: filtered },
  { name: "live: the order and the columns are chosen, and the columns are kept", app, run: arranged },
  { name: "live: the columns fit a wide window and a phone, and the charts say their numbers", app, run: fits },
  { name: "live: a time is dragged over, and charts go back further than the list", app: inUse, run: goneBack },
  {
    name: "live: a request leads to its session, which says what grew it and what was not cached",
    app: inUse,
    run: followed,
  },
  { name: "live: a longer time that is chosen while the gateway is away comes later", app: lasting, run: askedAway },
  {
    name: "live: requests that run no model say what they are, and are left out of latency",
    app: answering,
    run: idle,
  },
  { name: "live: an unknown price is no zero, and a client that left has a word", app, run: unpriced },
  { name: "live: without usage, a longer time says how to keep it", app, run: notKept },
];
