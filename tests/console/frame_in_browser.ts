/** The frame around the pages in a browser: the sidebar, the drawer of a phone, the search, and the colors. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { CHAT, chatBody, CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Case, type Desk, faultsOf, logIn, openPage, OPS } from "./desk.ts";

const KEYED: ConfigInput = { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] };

const app = () =>
  newApp({ config: { ...KEYED, console: { record: {} } }, now: Date.now, fetch: () => Promise.resolve(answerWhole()) });

const widthOf = (page: Page) => page.locator("#sidebar").evaluate(({ clientWidth }) => clientWidth);

/** What a person has chosen holds for the next visit, too. */
async function chosen(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  const wide = await widthOf(page);
  await page.getByRole("button", { name: "Narrow the sidebar" }).press("Enter");
  assert(await widthOf(page) < wide / 2);
  assertEquals(await faultsOf(page), []);
  await page.getByRole("button", { name: "Dark" }).click();
  await page.reload();
  await page.getByRole("heading", { name: "Live" }).waitFor();
  assert(await widthOf(page) < wide / 2);
  const schemeOf = () => page.evaluate<string>("getComputedStyle(document.documentElement).colorScheme");
  assertEquals(await schemeOf(), "dark");
  assertEquals(await page.getByRole("button", { name: "Dark" }).getAttribute("aria-pressed"), "true");
  await page.getByRole("button", { name: "As the system" }).click();
  assertEquals(await schemeOf(), "light dark");
  // A name that is not to be seen is there all the same.
  await page.getByRole("link", { name: "Upstreams", exact: true }).click();
  await page.getByRole("heading", { name: "Upstreams" }).waitFor();
}

async function drawer(desk: Desk): Promise<void> {
  const { page } = desk;
  await page.setViewportSize({ width: 390, height: 844 });
  await logIn(desk);
  assertEquals(await page.getByRole("navigation").count(), 0);
  const menu = page.getByRole("button", { name: "Open the menu" });
  await menu.press("Enter");
  await page.getByRole("link", { name: "Upstreams", exact: true }).waitFor();
  assertEquals(await faultsOf(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assertEquals(await page.evaluate("document.activeElement.getAttribute('aria-label')"), "Open the menu");
  await openPage(page, "Upstreams");
  await page.getByRole("heading", { name: "Upstreams" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

/** The search finds pages, models, keys and requests by the keyboard, and leaves a person alone who writes. */
async function search(desk: Desk): Promise<void> {
  const { page, app, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  const headers = { "x-api-key": OPS, "x-claude-code-session-id": "agent-session" };
  const response = await app.post(CHAT, chatBody(), headers);
  await response.text();
  await page.keyboard.press("/");
  const input = page.getByRole("combobox", { name: /^Search/ });
  await input.waitFor();
  await page.keyboard.type("upstr");
  await page.getByRole("option", { name: "Upstreams Page" }).waitFor();
  assertEquals(await faultsOf(page), []);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Upstreams" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("req_ 200");
  await page.getByRole("option", { name: /^[\d:]+ model ops 200 req_\w+ Request$/ }).waitFor();
  await input.fill("oss");
  await page.getByRole("option", { name: "oss/model Model" }).waitFor();
  await page.getByRole("option", { name: "oss/sandbox Model" }).waitFor();
  await input.fill("ops");
  await page.getByRole("option", { name: "ops Key" }).waitFor();
  await input.fill("fake");
  await page.getByRole("option", { name: "fake Upstream" }).waitFor();
  // Settings are found by their names and by what is said of them.
  await input.fill("monday");
  await page.getByRole("option", { name: /^budget.period .* Setting$/ }).waitFor();
  await input.fill("retry.rounds");
  const setting = page.getByRole("option", { name: /^retry.rounds How often .* Setting$/ });
  await setting.waitFor();
  assertEquals(await setting.getAttribute("aria-selected"), "true");
  assertEquals(await input.getAttribute("aria-activedescendant"), await setting.getAttribute("id"));
  assertEquals(await page.getByRole("dialog").getByRole("status").textContent(), "1 found");
  await input.fill("agent-session");
  await page.getByRole("option", { name: /^agent-session .*Session$/ }).waitFor();
  await input.fill("zzqx");
  await page.getByText("Nothing has that name.").waitFor();
  assertEquals(await input.getAttribute("aria-expanded"), "false");
  await input.fill("oss");
  await page.getByRole("option", { name: /^lanes / }).waitFor();
  await page.keyboard.press("PageDown");
  await page.getByRole("option", { name: /^lanes /, selected: true }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assertEquals(await page.getByRole("option", { selected: true }).textContent(), "oss/sandboxModel");
  await page.keyboard.press("Escape");
  await input.waitFor({ state: "detached" });
  await openPage(page, "Live");
  await page.getByLabel("Filter").press("/");
  assertEquals(await page.getByLabel("Filter").inputValue(), "/");
  assertEquals([await input.count(), complaints], [0, []]);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("retry.rounds");
  await setting.waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Setting retry.rounds" }).getByText("How often each target").waitFor();
  assertEquals(await faultsOf(page), []);
}

/** A page whose modules do not come says so, and comes when it is opened again. */
async function unloadable(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await page.route(/upstreams\.js/, (route) => route.abort(), { times: 1 });
  await openPage(page, "Upstreams");
  await page.getByText("The gateway is not responding").waitFor();
  await openPage(page, "Usage");
  await page.getByRole("heading", { name: "Usage" }).waitFor();
  await openPage(page, "Upstreams");
  await page.getByRole("heading", { name: "Upstreams" }).waitFor();
  await page.getByText("The gateway is not responding").waitFor({ state: "hidden" });
}

/** A page that fails where nobody expected it says so, and the others go on. */
async function failing(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  let isBroken = true;
  await page.route(/api\/status/, (route) => isBroken ? route.fulfill({ json: { upstreams: 1 } }) : route.continue());
  await openPage(page, "Upstreams");
  await page.getByRole("heading", { name: "This page cannot be shown" }).waitFor();
  assertEquals(await faultsOf(page), []);
  isBroken = false;
  await page.waitForResponse(/api\/status/);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Upstreams" }).waitFor();
  await openPage(page, "Usage");
  await page.getByRole("heading", { name: "Usage" }).waitFor();
}

export const frameCases: readonly Case[] = [
  { name: "frame: the sidebar's width and the colors are kept", app, run: chosen },
  { name: "frame: on a phone a drawer leads to the pages", app, run: drawer },
  { name: "frame: the search leads to pages, models and requests by the keyboard", app, run: search },
  { name: "frame: a page that cannot be loaded says so, and can be opened again", app, run: unloadable },
  { name: "frame: a page that fails says so, and can be tried again", app, run: failing },
];
