/** The pages of health and of budgets in a browser, and the table of the clients that are connected. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { until } from "../support/wait.ts";
import { type Case, type Desk, faultsOf, lastingStore, logIn, openPage, OPS } from "./desk.ts";
import { type Script, setupRig } from "./setup_rig.ts";

const EVIL = `<img src=x onerror="document.title='broken'">`;
const KEYED: ConfigInput = { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] };
const OK = { level: "ok", check: "configuration", subject: "configuration", message: "It is valid" };
const WRONG = {
  level: "error",
  check: "base-url-path",
  subject: 'upstream "local"',
  message: `It says ${EVIL}`,
  cure: "Correct it",
  settings: { upstreams: { local: { baseUrl: "http://127.0.0.1:9/v1" } } },
};
const MISSING = { level: "warning", check: "secret-missing", subject: 'upstream "far"', message: "TOKEN is not set" };

/** A host that does not know `top_k`. */
async function answering(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const isRefused = "top_k" in await new Request(input, init).json();
  return isRefused
    ? Response.json({ error: { message: "Unrecognized request argument: top_k" } }, { status: 400 })
    : answerWhole();
}

function checked(run: (desk: Desk, script: Script) => Promise<void>): Omit<Case, "name"> {
  const script: Script = { isFresh: false, findings: { configuration: [OK, MISSING], upstreams: [WRONG] } };
  return {
    app: () => setupRig(script, { config: KEYED, fetch: answering as typeof fetch }).app,
    run: (desk) => run(desk, script),
  };
}

/** The page checks what costs nothing once it opens. Each finding is a word and a reason, and leads to what fixes it. */
async function found(desk: Desk, script: Script): Promise<void> {
  const { page, app, complaints } = desk;
  await (await app.post(CHAT, chatBody({ top_k: 4 }), { "x-api-key": OPS })).text();
  await logIn(desk);
  complaints.length = 0;
  await openPage(page, "Health");
  await page.getByRole("status").getByText("1 problem, 1 warning.").waitFor();
  const rows = page.getByRole("listitem");
  const wrong = rows.filter({ hasText: 'upstream "local"' });
  await wrong.getByText("Problem").waitFor();
  await wrong.getByText(EVIL).waitFor();
  await rows.filter({ hasText: 'upstream "far"' }).getByRole("link", { name: "Enter the key" }).waitFor();
  await rows.filter({ hasText: "It is valid" }).getByText("Good", { exact: true }).waitFor();
  assertEquals(await page.locator("img").count(), 0);
  assertEquals(script.examined?.map(({ parts }) => parts.includes("models")), [false]);
  assertEquals(await faultsOf(page), []);
  const refusal = rows.filter({ hasText: "org/model of fake" });
  await refusal.getByText("top_k").waitFor();
  await refusal.getByRole("button", { name: /^Forget/ }).press("Enter");
  await page.getByText("It has met nothing that needs your attention").waitFor();
  await wrong.getByRole("button", { name: "Fix it" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: 'Fix it: upstream "local"' });
  await dialog.getByText("http://127.0.0.1:9/v1").waitFor();
  await dialog.getByRole("button", { name: "Write this file" }).click();
  await dialog.getByText("The gateway uses it now.").waitFor();
  script.findings = {};
  await dialog.getByRole("button", { name: "Close" }).click();
  // What was written is checked at once.
  await page.getByRole("status").getByText("No problem was found.").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 390);
  assertEquals(await faultsOf(page), []);
  assertEquals(complaints, []);
}

/** Models are asked when somebody wants that. What still runs ends with the page. */
async function ended(desk: Desk, script: Script): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await openPage(page, "Health");
  await page.getByRole("status").getByText("1 problem").waitFor();
  script.waits = { part: "models", until: new Promise(() => {}) };
  script.findings = { models: [{ ...OK, subject: "model one", message: "It answers" }] };
  await page.getByRole("button", { name: "Test the models" }).press("Enter");
  await page.getByRole("status").getByText("Checking").waitFor();
  await page.getByRole("listitem").filter({ hasText: "model one" }).waitFor();
  const { parts, signal } = script.examined!.at(-1)!;
  assertEquals([parts, signal.aborted], [["models"], false]);
  assertEquals(await page.getByRole("button", { name: /^(Check|Test)/ }).and(page.locator(":enabled")).count(), 0);
  await openPage(page, "Live");
  await until(() => signal.aborted);
  script.waits = undefined;
  // Another page at the same time gets its own findings, once the first one's are done.
  await openPage(page, "Health");
  await page.getByRole("status").getByText("No problem was found.").waitFor();
  // A model that was mended is tested alone, and what was found of others stays.
  const subject = 'model "one" of lane "oss"';
  const other = { ...OK, subject: 'model "two" of lane "oss"', message: "It answers as well" };
  script.findings = { models: [{ ...WRONG, subject, settings: undefined }, other] };
  await page.getByRole("button", { name: "Test the models" }).press("Enter");
  await page.getByRole("status").getByText("1 problem").waitFor();
  script.findings = { models: [{ ...OK, subject, message: "It answers again" }] };
  await page.getByRole("button", { name: `Test again: ${subject}` }).press("Enter");
  await page.getByRole("status").getByText("No problem was found.").waitFor();
  await page.getByText("It answers again").waitFor();
  await page.getByText("It answers as well").waitFor();
  assertEquals(script.examined!.at(-1)!.only, { lane: "oss", model: "one" });
  await desk.stop();
  await page.getByRole("button", { name: "Check again", exact: true }).click();
  await page.getByRole("alert").getByText("The gateway is not responding").waitFor();
  desk.start();
}

/** A gateway inside a program has figures, and no checks. */
async function off(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await openPage(page, "Health");
  await page.getByText("A program gave this gateway its configuration").waitFor();
  await page.getByRole("list", { name: "Figures of the gateway" }).getByText("ready").waitFor();
  assertEquals(await page.getByRole("button", { name: /^(Check|Test)/ }).count(), 0);
  assertEquals(await faultsOf(page), []);
}

const month = { period: "month 2027-01-01", dollars: "10", resets: "2027-02-01T00:00:00.000Z" };
const BUDGETS = [
  { ...month, budget: "team:blue", spent: "1", left: "9", forecast: { dollars: "3" } },
  {
    ...month,
    budget: `key:${EVIL}`,
    spent: "6",
    left: "4",
    forecast: { dollars: "18", usedUp: "2027-01-20T12:00:00.000Z" },
  },
  {
    ...month,
    budget: "gateway",
    spent: "9.98",
    left: "0.02",
    forecast: { dollars: "30", usedUp: "2027-01-21T12:00:00.000Z" },
  },
  {
    ...month,
    budget: "key:anna",
    spent: "2",
    left: "8",
    forecast: { dollars: "12", usedUp: "2027-01-28T12:00:00.000Z" },
  },
];

/** Those that run out first come first, and each leads to where it is changed. */
async function budgets(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  await openPage(page, "Budgets");
  await page.getByText("No budget yet").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.route(/api\/usage/, (route) => route.fulfill({ json: { data: [], budgets: BUDGETS } }));
  await page.reload();
  const short = page.getByRole("list", { name: "Running out" }).getByRole("listitem");
  await short.nth(2).waitFor();
  const names = await short.locator("b:not(small b)").allTextContents();
  assertEquals(names, ["The gateway", EVIL, "anna"]);
  assertEquals(await short.nth(0).locator(".badge[data-tone=bad]").textContent(), "used up");
  await short.nth(0).getByText(/Hardly anything is left until the period ends .*1 Feb 2027/).waitFor();
  assertEquals(await short.nth(0).getByText("At this rate").count(), 0);
  await short.nth(1).getByText("used up").waitFor();
  const rest = page.getByRole("list", { name: "Enough left" }).getByRole("listitem");
  await rest.filter({ hasText: "blue" }).getByText("$9.00 of $10.00 left this month").waitFor();
  const meter = short.nth(2).getByRole("meter");
  assertEquals([await meter.getAttribute("aria-valuenow"), await meter.getAttribute("aria-valuemax")], ["2", "10"]);
  assertEquals([await page.locator("img").count(), await faultsOf(page)], [0, []]);
  await short.nth(2).getByRole("link", { name: "anna" }).press("Enter");
  const form = page.getByRole("dialog", { name: 'Edit key "anna"' });
  await form.getByLabel("Dollars").waitFor();
  await page.keyboard.press("Escape");
  await form.waitFor({ state: "detached" });
  assertEquals(complaints.filter((one) => !one.includes("404")), []);
}

const STORED: ConfigInput = { ...KEYED, storedKeys: true, store: { kind: "kv", path: "kept/in/memory/by/this/test" } };
const withKey = () => {
  const app = newApp({ config: STORED, store: lastingStore(), now: Date.now });
  const headers = { "x-api-key": OPS, origin: "http://gateway", "content-type": "application/json" };
  void app.post("/console/api/keys/create", { name: "anna" }, headers);
  return app;
};

const USED: ConfigInput = {
  ...CONFIG,
  usage: {},
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }, { name: "anna", secret: { env: "GUEST_KEY" } }],
};

/** The page of clients says who asks for what with which keys, and how it went. */
async function connected(desk: Desk): Promise<void> {
  const { page, app, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  await openPage(page, "Clients");
  await page.getByText("No client has asked for anything yet").waitFor();
  await page.getByRole("heading", { name: "Found on this machine" }).waitFor();
  const ask = async (agent: string, key: string, more: object = {}) => {
    const response = await app.post(CHAT, chatBody(more), { "x-api-key": key, "user-agent": agent });
    await response.text();
  };
  await ask("agent-a/1.0", OPS);
  await ask("agent-b/7 (linux)", OPS);
  await ask("agent-a/2.0", ENV.GUEST_KEY!);
  await ask("agent-a/2.0", OPS, { model: "nobody-has-it" });
  await ask(EVIL.replaceAll('"', "'"), OPS);
  await ask("SomeSDK/Python 2.8.0", OPS);
  await ask("SomeSDK/JS 6.1.0", OPS);
  await ask("agent-c/1", OPS);
  await openPage(page, "Live");
  await openPage(page, "Clients");
  const row = page.getByRole("region", { name: "Connected clients" }).getByRole("row").filter({ hasText: "agent-a" });
  await row.waitFor();
  // It is known by another name, too.
  await page.getByRole("rowheader", { name: "Agent B agent-b" }).waitFor();
  await page.getByRole("rowheader", { name: "Some SDK (JS, Python) SomeSDK" }).waitFor();
  await page.getByRole("rowheader", { name: "agent-c", exact: true }).waitFor();
  const cell = async (name: string) => await row.locator(`[data-column=${name}]`).textContent();
  assertEquals([await cell("requests"), await cell("errors"), await cell("lanes")], ["3", "1", "oss"]);
  assertEquals((await cell("keys"))!.split(", ").sort(), ["anna", "ops"]);
  assertStringIncludes((await cell("models"))!, "model");
  assertEquals([await page.locator("img").count(), await faultsOf(page)], [0, []]);
  await row.getByRole("link", { name: "agent-a" }).press("Enter");
  await page.getByRole("heading", { name: "Usage" }).waitFor();
  await page.getByRole("button", { name: "Remove Client agent-a" }).waitFor();
  assertEquals(complaints, []);
}

export const healthCases: Case[] = [
  { name: "health: findings are checked as the page opens, and fixed from it", ...checked(found) },
  { name: "health: models are tested when asked for, and checks end with their page", ...checked(ended) },
  { name: "health: a gateway without a file has figures alone", app: () => newApp({ config: KEYED }), run: off },
  { name: "budgets are listed by what runs out first", app: withKey, run: budgets },
  {
    name: "clients that are connected are listed with what they use",
    app: () => setupRig({ isFresh: false }, { config: USED }).app,
    run: connected,
  },
];
