/** The design's own page in a browser: its pictures, its keyboard, and its motion. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { CONFIG, newApp } from "../support/app.ts";
import { type Case, type Desk, faultsOf, logIn } from "./desk.ts";
import { photograph } from "./photos_in_browser.ts";

async function pictures(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  const seen = new Set<string>();
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${desk.url}/console/#design`);
      await page.reload();
      await page.getByRole("heading", { name: "Design", level: 1 }).waitFor();
      await page.locator(".chart canvas").waitFor();
      assertEquals(await faultsOf(page), [], `${width}, ${colorScheme}`);
      const over = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assertEquals(over, 0, `The page is wider than a window of ${width}`);
      seen.add((await photograph(page, `design-${width}-${colorScheme}`)).toBase64());
    }
  }
  assertEquals([seen.size, complaints], [4, []]);
}

const focused = (page: Page) => page.evaluate<string>("document.activeElement.textContent.trim()");

async function keyboard(desk: Desk): Promise<void> {
  const { page } = desk;
  await page.emulateMedia({ reducedMotion: "reduce" });
  await logIn(desk);
  await page.goto(`${desk.url}/console/#design`);
  await page.getByRole("tab", { name: "Request" }).focus();
  await page.keyboard.press("ArrowRight");
  assertEquals(await focused(page), "Answer");
  await page.getByRole("tabpanel", { name: "Answer" }).getByText("The second").waitFor();
  await page.getByRole("button", { name: "More" }).press("Enter");
  assertEquals(await focused(page), "Edit");
  await page.keyboard.press("ArrowDown");
  assertEquals(await focused(page), "Remove");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("It could not be removed").waitFor();
  assertEquals(await page.evaluate("getComputedStyle(document.querySelector('.toast')).animationName"), "none");
  await page.getByRole("button", { name: "Dismiss" }).press("Enter");
  const opener = page.getByRole("button", { name: "Open a dialog" });
  await opener.press("Enter");
  await page.getByRole("dialog", { name: "A dialog" }).waitFor();
  assertEquals(await faultsOf(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assertEquals(await focused(page), "Open a dialog");
  await page.getByLabel("Budget").focus();
  const described = await page.getByLabel("Budget").getAttribute("aria-describedby");
  assertEquals(await page.locator(`[id="${described}"]`).textContent(), "A budget is a number of dollars.");
}

async function code(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await page.goto(`${desk.url}/console/#design`);
  const block = page.getByRole("group", { name: "Request", exact: true });
  await block.getByRole("button", { name: "Fold messages" }).press("Enter");
  await block.getByText("[ … ],").waitFor();
  assertEquals(await block.getByText("Why is a lane").count(), 0);
  await page.getByLabel("Search in Request").fill("LANE");
  assertEquals(await block.locator("mark").allTextContents(), ["lane"]);
  await page.getByLabel("Search in Request").fill("");
  await page.getByRole("button", { name: "Unfold all" }).click();
  await block.getByText("Why is a lane").waitFor();
  assert(
    (await block.evaluate(({ firstElementChild }) => getComputedStyle(firstElementChild!).fontFamily)).includes("mono"),
  );
}

const app = () =>
  newApp({ config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] } });

export const designCases: readonly Case[] = [
  { name: "design: its page passes axe and fits, light and dark, wide and narrow", app, run: pictures },
  { name: "design: tabs, menus, dialogs and messages work by the keyboard, without motion", app, run: keyboard },
  { name: "design: JSON folds, and is searched", app, run: code },
];
