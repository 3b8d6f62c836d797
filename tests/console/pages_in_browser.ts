/** Rules that hold for each page of the table of pages, whichever it has. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { PAGES } from "../../src/console/frame/pages.js";
import { CONFIG, newApp, type TestApp } from "../support/app.ts";
import { type Case, type Desk, faultsOf, lastingStore, logIn } from "./desk.ts";
import { LONG_WORD, MARKUP, RIGHT_TO_LEFT, rudelyServed } from "./rude.ts";
import { served } from "./served.ts";

const NAMES = Object.keys(PAGES);

/** Opens a page by its address, and waits until what it asks the gateway for is there. */
async function open({ page, url }: Desk, name: string): Promise<void> {
  await page.goto(`${url}/console/#${name}`);
  await drawn(page).catch(async (cause) => {
    throw new Error(`${name} shows only: ${await page.locator("body").innerText()}`, { cause });
  });
}

async function drawn(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await page.locator("main :is(button, a, input, textarea, .empty)").first().waitFor();
}

/** The innermost elements that make the page wider than its window. */
const WIDE = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth === clientWidth) return [];
  const scrolls = (one) => one !== null && one !== document.documentElement &&
    (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
  const wide = [...document.querySelectorAll("body *")].filter((one) =>
    one.getBoundingClientRect().right > clientWidth && !scrolls(one.parentElement)
  );
  return wide.filter((one) => !wide.some((other) => other !== one && one.contains(other))).map((one) =>
    one.parentElement.className + " > " + one.outerHTML.slice(0, 120)
  );
})()`;

const overOf = (page: Page) => page.evaluate<string[]>(WIDE);

async function passesAxe(desk: Desk): Promise<void> {
  const { page } = desk;
  await fillOf.get(desk.app)!();
  await logIn(desk);
  for (const width of [1440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const name of NAMES) {
        await open(desk, name);
        assertEquals(await faultsOf(page), [], `${name}, ${colorScheme}, ${width}`);
        assertEquals(await overOf(page), [], `${name} is wider than a window of ${width}`);
      }
    }
  }
}

/** The controls of a page that a person without a mouse has to reach, each with its name. */
const CONTROLS = `(() => {
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest("[inert]");
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
  return all.filter((element) => shown(element) && !element.disabled && element.tabIndex >= 0);
})()`;

/** How the focus shows on the element that has it. */
const FOCUS = `(() => {
  const { activeElement: one } = document;
  if (!one || one === document.body) return undefined;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const { width, height } = one.getBoundingClientRect();
  const isFirst = (window.reached ??= new Set()).size > 0 && [...reached][0] === one;
  window.reached.add(one);
  const isShown = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 && width > 0 && height > 0;
  return { isFirst, isShown, html: one.outerHTML.slice(0, 160) };
})()`;

/** The controls that have not had the focus. */
const MISSED =
  `${CONTROLS}.filter((one) => !window.reached.has(one) && one.type !== "radio").map((one) => one.outerHTML.slice(0, 160))`;

/** More than any page has controls. */
const MOST_PRESSES = 600;

/** With the tab key alone each control gets the focus, which is to be seen. */
async function byKeyboard(desk: Desk): Promise<void> {
  const { page } = desk;
  await fillOf.get(desk.app)!();
  await logIn(desk);
  for (const name of NAMES) {
    await open(desk, name);
    // A list of requests would be the same link a hundred times.
    const search = page.getByRole("main").getByRole("searchbox");
    if (await search.count() > 0) await search.first().fill("no-such-thing");
    await page.evaluate("{ document.activeElement?.blur(); window.reached = new Set(); }");
    const missed = () => page.evaluate<string[]>(MISSED);
    // More controls may come while the first ones are reached: they are reached in the next round.
    for (let presses = 0; presses < MOST_PRESSES; presses++) {
      await page.keyboard.press("Tab");
      const focus = await page.evaluate<{ isFirst: boolean; isShown: boolean; html: string } | undefined>(FOCUS);
      if (!focus) continue;
      assert(focus.isShown, `${name}: the focus does not show on ${focus.html}`);
      if (focus.isFirst && (await missed()).length === 0) break;
    }
    assertEquals(await missed(), [], `${name} has controls that no key reaches`);
  }
}

/** A browser opens six connections to a server, and a page may hold one. */
const TABS = 4;

/** The pages, a few at once in tabs, lose the gateway and get it back. None is loaded anew. */
async function returns(desk: Desk): Promise<void> {
  await logIn(desk);
  for (let at = 0; at < NAMES.length; at += TABS) {
    const tabs = [];
    for (const name of NAMES.slice(at, at + TABS)) {
      const page = await desk.page.context().newPage();
      await open({ ...desk, page, url: desk.url }, name);
      await page.evaluate("window.isSame = true");
      tabs.push({ name, page });
    }
    await desk.stop();
    await Promise.all(
      tabs.map(({ page }) => page.locator("#state", { hasText: "The gateway is not responding" }).waitFor()),
    );
    desk.start();
    await Promise.all(tabs.map(({ page }) => page.locator("#state:empty").waitFor({ state: "attached" })));
    for (const { name, page } of tabs) {
      assert(await page.evaluate("window.isSame === true"), `${name} was loaded anew`);
      assertEquals(await page.getByRole("heading", { name: "cannot be shown" }).count(), 0, name);
      await page.close();
    }
  }
}

/** Whoever names things rudely sees the names as text, and makes no page wider or slower. */
async function rude(desk: Desk): Promise<void> {
  const { page, complaints, url } = desk;
  await logIn(desk);
  complaints.length = 0;
  await fillOf.get(desk.app)!();
  const outside: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) outside.push(request.url());
  });
  const texts: string[] = [];
  const look = async (name: string) => {
    assertEquals(await page.locator("main img:not([src^='data:image/'])").count(), 0, `${name} has a picture`);
    assertEquals(await page.locator("main :is(script, iframe, object, embed)").count(), 0, name);
    assertEquals(await page.evaluate("window.isBroken"), undefined, `${name} has run what it shows`);
    assertEquals(await overOf(page), [], `${name} is wider than the window`);
    texts.push(await page.locator("main").innerText());
  };
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const name of NAMES) {
      await open(desk, name);
      await look(name);
    }
    await open(desk, "live");
    for (const name of ["Model", "Client"]) {
      await page.getByRole("group", { name: /^Conditions/ }).getByRole("button", { name, exact: true }).click();
      await page.getByRole("menuitem").first().waitFor();
      await look(`The menu ${name}`);
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: /details$/ }).first().click();
    await page.getByRole("dialog").locator("dd").first().waitFor();
    await look("The details of a request");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("img");
    await page.getByRole("option", { name: /Model$/ }).first().waitFor();
    await look("The search");
    await page.keyboard.press("Escape");
    await open(desk, "sessions");
    await page.getByRole("link", { name: /^Session of/ }).first().click();
    await page.locator(".turn .markdown").first().waitFor();
    for (const folded of await page.locator(".folded summary").all()) await folded.click();
    await look("A session");
    await open(desk, "inspect");
    await page.getByRole("link", { name: /^Request at/ }).first().click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await look("A request");
  }
  const text = texts.join("\n");
  for (const word of [MARKUP.slice(0, 20), LONG_WORD.slice(0, 20), RIGHT_TO_LEFT]) {
    assert(text.includes(word), `${word} is nowhere to be seen`);
  }
  // A program that runs the gateway itself has no file for the page of the configuration.
  assertEquals([outside, complaints.filter((one) => !one.includes("501"))], [[], []]);
}

/** How each gateway is filled: several cases run at once. */
const fillOf = new WeakMap<TestApp, () => Promise<void>>();
const filled = (make: () => { app: TestApp; fill(): Promise<void> }) => () => {
  const { app, fill } = make();
  fillOf.set(app, fill);
  return app;
};

const kept = lastingStore();
const lasting = () =>
  newApp({
    config: {
      ...CONFIG,
      usage: {},
      console: { record: {} },
      keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
    },
    store: kept,
    now: Date.now,
  });

export const pageCases: readonly Case[] = [
  { name: "pages: each passes axe, wide and narrow, light and dark", app: filled(served), run: passesAxe },
  {
    name: "pages: each control of each is reached by the keyboard, and the focus shows",
    app: filled(served),
    run: byKeyboard,
  },
  { name: "pages: each says that the gateway has gone, and goes on when it is back", app: lasting, run: returns },
  { name: "pages: hostile names and contents are text on each", app: filled(rudelyServed), run: rude },
];
