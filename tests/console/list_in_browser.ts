/** The list of requests in a browser, when there are many. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { CHAT, CONFIG, newApp } from "../support/app.ts";
import { type Case, type Desk, logIn } from "./desk.ts";

/** What the page is answered when 1,000 more have ended. */
function thousandMore(since: number) {
  const time = new Date().toISOString();
  const ended = Array.from({ length: 1_000 }, (_, index) => {
    const number = since + index;
    const usage = { inputTokens: number, outputTokens: 5 };
    return {
      number,
      id: `req_${number}`,
      time,
      path: CHAT,
      model: `model-${number}`,
      status: 200,
      durationMs: 9,
      usage,
    };
  });
  return { now: Date.now(), feed: "busy", next: since + ended.length, running: [], ended };
}

async function scrolled(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await page.evaluate(`{
    const observer = new MutationObserver((changes) => {
      window.most = Math.max(window.most ?? 0, changes.flatMap(({ addedNodes }) => [...addedNodes]).length);
    });
    observer.observe(document.getElementById("main"), { childList: true, subtree: true });
  }`);
  await page.route(/api\/live/, (route) => {
    const params = new URL(route.request().url()).searchParams;
    const since = params.get("feed") === "busy" ? Number(params.get("since")) : 0;
    const answer = since < 5_000 ? thousandMore(since) : { ...thousandMore(since), ended: [], next: since };
    return route.fulfill({ json: answer });
  });
  await page.getByText("Requests, latest first: 5,000").waitFor();
  const rows = page.locator("tbody tr:not(.space)");
  const few = async (what: string) =>
    assert(await rows.count() < 60, `${what}: ${await rows.count()} rows in the page`);
  await few("At the top");
  await page.getByRole("cell", { name: "model-4999", exact: true }).waitFor();
  await page.evaluate("{ const list = document.querySelector('.rows'); list.scrollTop = list.scrollHeight / 2; }");
  await page.getByRole("cell", { name: /^model-25\d\d$/ }).first().waitFor();
  await few("In the middle");
  await page.evaluate("{ const list = document.querySelector('.rows'); list.scrollTop = list.scrollHeight; }");
  await page.getByRole("cell", { name: "model-0", exact: true }).waitFor();
  await few("At the end");
  assertEquals(await page.locator(".rows table").getAttribute("aria-rowcount"), "5001");
  assertEquals(await rows.last().getAttribute("aria-rowindex"), "5001");
  // What one change of the list costs does not grow with the list: rows in sight, and the charts.
  const most = await page.evaluate<number>("window.most");
  assert(most < 150, `${most} elements were added at once`);
}

/** Whether some of it is within the list's frame. */
const isInSight = (page: Page, name: string) =>
  page.evaluate<boolean>(`{
    const cell = [...document.querySelectorAll("td")].find(({ textContent }) => textContent === "${name}");
    const [one, list] = [cell?.getBoundingClientRect(), document.querySelector(".rows").getBoundingClientRect()];
    one !== undefined && one.bottom > list.top && one.top < list.bottom;
  }`);

async function filtered(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await page.route(/api\/live/, (route) => route.fulfill({ json: thousandMore(4_000) }));
  await page.getByText("Requests, latest first: 1,000").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.evaluate(`{
    const list = document.querySelector(".rows");
    list.scrollTop = 300.5 * document.querySelector("tbody tr:not(.space)").getBoundingClientRect().height;
  }`);
  await page.getByRole("cell", { name: "model-4699", exact: true }).waitFor();
  await page.getByLabel("Filter").fill("9");
  assert(await isInSight(page, "model-4699"), "The row that was first is still in sight");
  await page.getByLabel("Filter").fill("8");
  const rows = await page.locator("tbody tr:not(.space) td[data-column=model]").allTextContents();
  const inSight = await Promise.all(rows.map((name) => isInSight(page, name)));
  assert(inSight.includes(true), "Some rows are in sight, though the one that was first is not in the list");
}

async function held(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  let since = 0;
  const { promise: focused, resolve: goOn } = Promise.withResolvers<void>();
  await page.route(/api\/live/, async (route) => {
    if (since > 0) await focused;
    const { ended, ...rest } = thousandMore(since);
    since += 40;
    await route.fulfill({ json: { ...rest, ended: ended.slice(0, 40), next: since } });
  });
  await page.getByRole("cell", { name: "model-39", exact: true }).waitFor();
  const button = page.getByRole("row", { name: /model-39\b/ }).getByRole("button");
  await button.focus();
  goOn();
  await page.getByText("Requests, latest first: 120").waitFor();
  assertEquals(
    await page.evaluate("document.activeElement.closest('tr')?.querySelector('[data-column=model]').textContent"),
    "model-39",
  );
}

/** One that took long has ended last, and began first. */
async function ordered(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1_000).toISOString();
  const entry = { path: CHAT, status: 200, durationMs: 9 };
  const usage = { inputTokens: 1, outputTokens: 2, reasoningTokens: 1, hostedUses: { webSearch: 2, webFetch: 1 } };
  const ended = [
    { ...entry, number: 0, id: "req_a", model: "began-second", time: at(1) },
    { ...entry, number: 1, id: "req_b", model: "began-third", time: at(2), usage, stream: true, costEstimated: true },
    { ...entry, number: 2, id: "req_c", model: "began-first", time: at(0), durationMs: 9_000, cost: "0.01" },
  ];
  const running = [{ id: "req_d", path: CHAT, model: "runs", time: at(0.5), elapsedMs: 7 }];
  await page.route(
    /api\/live/,
    (route) => route.fulfill({ json: { now: Date.now(), feed: "one", next: 3, running, ended } }),
  );
  await page.getByText("Requests, latest first: 4").waitFor();
  assertEquals(await page.locator("tbody tr:not(.space) td[data-column=model]").allTextContents(), [
    "runs",
    "began-third",
    "began-second",
    "began-first",
  ]);
  await page.getByRole("row", { name: /began-third/ }).getByRole("button").click();
  const details = await page.getByRole("dialog").locator("dl").innerText();
  for (const words of ["2 web searches, 1 page", "Streamed", "Tokens out\n2, of them 1 reasoning"]) {
    assert(details.includes(words), details);
  }
  for (const words of ["[object", "feed", "number", "hostedUses", "true"]) assert(!details.includes(words), details);
}

/** More of a long list comes as its reader scrolls, and its search and order stand in the address. */
async function continued(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await page.route(/api\/keys/, (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get("from") ?? 0);
    const keys = Array.from({ length: 60 }, (_, index) => ({ name: `key-${from + index}`, isStored: true }));
    const next = from < 120 ? from + 60 : undefined;
    return route.fulfill({ json: { keys, next, teams: [], lanes: [], budgets: [] } });
  });
  await page.goto(`${desk.url}/console/#keys`);
  const table = page.getByRole("region", { name: "Keys" });
  await table.getByText("60 keys", { exact: true }).waitFor();
  const toEnd = () => table.evaluate((list) => list.scrollTop = list.scrollHeight);
  await toEnd();
  await table.getByText("120 keys", { exact: true }).waitFor();
  const { y: top } = (await table.boundingBox())!;
  const head = table.getByRole("columnheader", { name: "Key" });
  assert((await head.boundingBox())!.y - top < 2, "The head stays in sight");
  await toEnd();
  await table.getByText("180 keys", { exact: true }).waitFor();
  await head.getByRole("button").click();
  await head.getByRole("button").click();
  await page.getByLabel("Filter").fill("key-17");
  const names = () => table.getByRole("rowheader").allTextContents();
  assertEquals((await names()).slice(0, 2), ["key-179", "key-178"]);
  assertEquals(page.url().split("#")[1], "keys?sort=name-down&words=key-17");
  await page.reload();
  await table.getByRole("rowheader", { name: "key-179" }).waitFor();
  assertEquals(await page.getByLabel("Filter").inputValue(), "key-17");
  assertEquals((await names()).slice(0, 2), ["key-179", "key-178"]);
  await page.getByLabel("Filter").fill("nobody");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Limits" }).uncheck();
  assertEquals(await table.getByRole("columnheader", { name: "Limits" }).count(), 0);
}

/** Whoever does not see the list hears now and then what has arrived. */
async function announced(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  let since = 0;
  await page.route(/api\/live/, async (route) => {
    const { ended, ...rest } = thousandMore(since);
    since += 3;
    // Each answer is a minute after the one before.
    await route.fulfill({ json: { ...rest, now: Date.now() + since * 20_000, ended: ended.slice(0, 3), next: since } });
  });
  await page.locator("[aria-live=polite]", { hasText: /^\d+ new requests, 0 failed$/ }).waitFor({ state: "attached" });
}

const app = () =>
  newApp({ config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] } });

export const listCases: readonly Case[] = [
  { name: "thousands of requests: only those in sight are in the page, wherever one reads", app, run: scrolled },
  { name: "the list is in the order of the times that it shows, and details are in words", app, run: ordered },
  { name: "a long list goes on as one scrolls, and its search stands in the address", app, run: continued },
  { name: "what has arrived is said to those who do not see it", app, run: announced },
  { name: "whoever filters a list keeps the place in it", app, run: filtered },
  { name: "whoever reads further down, or is in a row, stays there while others arrive", app, run: held },
];
