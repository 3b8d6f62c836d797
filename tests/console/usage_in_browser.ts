/** The page of usage in a browser: its charts, its groups and conditions, and what it exports. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CONFIG, newApp, type TestApp } from "../support/app.ts";
import { type Case, type Desk, faultsOf, logIn, openPage } from "./desk.ts";

const EVIL = `<img src=x onerror="document.title='broken'">`;
const STEP_MS = 900_000;
const TO = Math.floor(Date.now() / STEP_MS) * STEP_MS;
const TIMES = [TO - 3 * STEP_MS, TO - 2 * STEP_MS, TO - STEP_MS];

const timesOf = (ms: number) => ({ p50: ms, p95: 2 * ms, p99: 3 * ms });
function totalOf(requests: number, dollars?: string) {
  return {
    requests,
    errors: 1,
    inputTokens: 100 * requests,
    cachedTokens: 50 * requests,
    outputTokens: 10 * requests,
    reasoningTokens: requests,
    cacheHits: requests,
    notes: 2,
    relaxations: 1,
    unpriced: 0,
    estimated: 0,
    dollars,
    durationMs: timesOf(1_000),
    firstEventMs: { ...timesOf(200), requests },
  };
}
function valuesOf(requests: number[]) {
  const times = (ms: number) => ({ p50: [ms, null, ms], p95: [2 * ms, null, 2 * ms], p99: [3 * ms, null, 3 * ms] });
  const all = (share: number) => requests.map((value) => value * share);
  return {
    requests,
    errors: all(0),
    inputTokens: all(100),
    cachedTokens: all(50),
    outputTokens: all(10),
    reasoningTokens: all(1),
    cacheHits: requests,
    notes: requests,
    relaxations: all(0),
    dollars: all(0.25),
    durationMs: times(1_000),
    firstEventMs: times(200),
  };
}

function answerFor(query: URLSearchParams) {
  const groups = [
    { name: "anna", total: totalOf(6, "1.5"), values: valuesOf([1, 2, 3]) },
    { name: EVIL, total: totalOf(3), values: valuesOf([3, 0, 0]) },
  ];
  const totals = groups.map(({ name, total }) => ({ name, ...total }));
  const of = { total: totalOf(9, "2.25"), values: valuesOf([4, 2, 3]) };
  return {
    object: "series",
    from: TIMES[0],
    to: TO,
    stepMs: STEP_MS,
    keptDays: 90,
    by: query.get("by"),
    times: TIMES,
    ...of,
    groups,
    totals,
    names: { model: ["glm", "kimi"], key: ["anna", EVIL], lane: ["oss"] },
    ...query.has("compare") && {
      before: {
        from: 0,
        to: TIMES[0],
        total: totalOf(6, "1"),
        values: valuesOf([2, 2, 2]),
        totals: totals.slice(0, 1),
      },
    },
  };
}
const BUDGETS = [{
  budget: "key:anna",
  period: "month 2027-01-01",
  dollars: "1",
  spent: "0.6",
  left: "0.4",
  forecast: { dollars: "1.8", usedUp: "2027-01-20T12:00:00.000Z" },
}];

/** The queries that the page asked for. */
async function answered({ page }: Desk): Promise<URLSearchParams[]> {
  const asked: URLSearchParams[] = [];
  await page.route(/api\/usage/, (route) => route.fulfill({ json: { data: [], budgets: BUDGETS } }));
  await page.route(/api\/series/, (route) => {
    const { searchParams } = new URL(route.request().url());
    asked.push(searchParams);
    const file = searchParams.get("format") === "csv" && { "content-disposition": 'attachment; filename="usage.csv"' };
    return file
      ? route.fulfill({ body: "time,key\r\n", headers: { ...file, "content-type": "text/csv" } })
      : route.fulfill({ json: answerFor(searchParams) });
  });
  return asked;
}

async function charted(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  const asked = await answered(desk);
  await openPage(page, "Usage");
  const chart = page.getByRole("img", { name: /^Requests: at most 3, now anna 3, <img.*> 0$/ });
  await chart.waitFor();
  await page.locator(".chart canvas").first().waitFor();
  const { width, height } = (await chart.boundingBox())!;
  await chart.hover({ position: { x: width - 60, y: height / 2 } });
  const tip = page.locator(".tip");
  await tip.getByText("anna").waitFor();
  assertEquals(await tip.locator("b").allTextContents(), ["3", "0"]);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText("+50 %").first().waitFor();
  await chart.hover({ position: { x: width - 61, y: height / 2 } });
  await tip.getByText("the time before").waitFor();
  assertEquals(await tip.locator("b").allTextContents(), ["3", "0", "2"]);
  const budget = page.getByRole("listitem").filter({ hasText: "60 % spent" });
  await budget.getByText("$0.40 of $1.00 left").waitFor();
  await budget.getByText(/At this rate it is used up .*20 Jan 2027/).waitFor();
  assertEquals(await faultsOf(page), []);
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).press("Enter")
      .then(() => page.getByRole("menuitem", { name: "As CSV" }).press("Enter")),
  ]);
  assertEquals(saved.suggestedFilename(), "usage.csv");
  assertEquals(asked.find((query) => query.has("format"))!.get("compare"), "true");
  assertEquals([await page.locator("img").count(), complaints], [0, []]);
}

async function narrowed(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  const asked = await answered(desk);
  const next = (wanted: (query: URLSearchParams) => boolean) =>
    page.waitForRequest((request) =>
      request.url().includes("api/series") && wanted(new URL(request.url()).searchParams)
    );
  await openPage(page, "Usage");
  const chart = page.getByRole("img", { name: /^Requests: at most/ });
  await page.locator(".chart canvas").first().waitFor();
  await Promise.all([
    next((query) => query.get("by") === "key"),
    page.getByLabel("Group by").selectOption("key"),
  ]);
  await Promise.all([
    next((query) => query.getAll("key").includes(EVIL)),
    page.getByRole("rowheader", { name: EVIL }).getByRole("button").click(),
  ]);
  const over = page.locator(".u-over").first();
  await over.scrollIntoViewIfNeeded();
  const area = (await over.boundingBox())!;
  const dragged = next((query) => query.has("from"));
  await page.mouse.move(area.x + area.width * 0.4, area.y + 30);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.9, area.y + 30, { steps: 4 });
  await page.mouse.up();
  const { from, to } = Object.fromEntries(new URL((await dragged).url()).searchParams);
  assert(TIMES[0]! < Number(from) && Number(from) < Number(to) && Number(to) <= TO + STEP_MS, `${from} to ${to}`);
  assertStringIncludes(page.url(), `from=${from}`);
  asked.length = 0;
  await page.reload();
  await page.getByRole("button", { name: /^Remove From/ }).waitFor();
  await page.getByRole("button", { name: `Remove Key ${EVIL}` }).waitFor();
  assertEquals([asked[0]!.getAll("key"), asked[0]!.get("from")], [[EVIL], from]);
  await Promise.all([
    next((query) => query.get("range") === "7d"),
    page.getByRole("button", { name: "7 days" }).click(),
  ]);
  await page.getByLabel("Show").selectOption("dollars");
  await page.getByRole("img", { name: /^Cost: at most \$0\.75/ }).waitFor();
  await page.getByText("Chart as a table").click();
  const numbers = page.getByRole("region", { name: "The chart's numbers" });
  await numbers.waitFor();
  assertEquals(await numbers.getByRole("row").count(), 4);
  await chart.waitFor({ state: "detached" });
}

/** The answer to an earlier choice that comes late. */
async function late(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await answered(desk);
  const held = Promise.withResolvers<void>();
  await page.route(/api\/series.*range=90d/, async (route) => {
    await held.promise;
    await route.fulfill({ json: { ...answerFor(new URLSearchParams("by=model")), totals: [] } });
  });
  await openPage(page, "Usage");
  await page.getByRole("button", { name: "90 days" }).click();
  await page.getByRole("button", { name: "1 h" }).click();
  const done = page.waitForResponse(/range=90d/);
  held.resolve();
  await (await done).finished();
  await page.getByText("2 models", { exact: true }).waitFor();
  await page.waitForResponse(/range=1h/).catch(() => {});
  assertEquals(await page.getByText("Nothing was used").count(), 0);
}

const app = (): TestApp =>
  newApp({ config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] } });

export const usageCases: readonly Case[] = [
  {
    name: "usage: a chart says its parts, the time before and what is left of budgets, and all is exported",
    app,
    run: charted,
  },
  {
    name: "usage: groups, conditions and a dragged range hold for all of the page, and stand in its address",
    app,
    run: narrowed,
  },
  { name: "usage: what is shown is that of the range that was chosen last", app, run: late },
];
