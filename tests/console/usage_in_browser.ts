/** The page of usage in a browser: its chart, its groups, and what it exports. */
import { assertEquals } from "@std/assert";
import { CONFIG, newApp } from "../support/app.ts";
import { type Case, type Desk, faultsOf, logIn, openPage } from "./desk.ts";

const EVIL = `<img src=x onerror="document.title='broken'">`;
const dayOf = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);

const USED = [
  { key: "anna", model: "glm", day: dayOf(0), requests: 3, inputTokens: 30, outputTokens: 3, dollars: "0.5" },
  { key: EVIL, model: "kimi", day: dayOf(2), requests: 1, inputTokens: 10, outputTokens: 1 },
];
const BUDGETS = [{ budget: "key:anna", period: "month", dollars: "1", spent: "0.9", left: "0.1" }];

async function charted(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  await page.route(/api\/usage/, (route) => route.fulfill({ json: { data: USED, budgets: BUDGETS } }));
  await openPage(page, "Usage");
  await page.getByRole("img", { name: /^Cost: at most \$0\.50, now anna \$0\.50/ }).waitFor();
  await page.locator(".chart canvas").waitFor();
  await page.getByRole("button", { name: "Requests" }).first().click();
  const chart = page.getByRole("img", { name: /^Requests: at most 3, now anna 3, <img.*> 0$/ });
  // The last day is at the right edge.
  const { width, height } = (await chart.boundingBox())!;
  await chart.hover({ position: { x: width - 60, y: height / 2 } });
  const tip = page.locator(".tip");
  await tip.getByText("anna").waitFor();
  assertEquals(await tip.locator("b").allTextContents(), ["3", "0"]);
  await page.getByRole("listitem").filter({ hasText: "90 % spent" }).getByText("$0.10 of $1.00 left").waitFor();
  assertEquals(await faultsOf(page), []);
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).press("Enter")
      .then(() => page.getByRole("menuitem", { name: "As CSV" }).press("Enter")),
  ]);
  assertEquals(saved.suggestedFilename(), "usage.csv");
  assertEquals((await Deno.readTextFile(await saved.path())).split("\r\n")[1], `${dayOf(0)},anna,glm,3,30,3,0.5`);
  assertEquals([await page.locator("img").count(), complaints], [0, []]);
}

export const usageCases: readonly Case[] = [{
  name: "usage: a bar for each day says its parts, budgets say what is left, and all of it is exported",
  app: () => newApp({ config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] } }),
  run: charted,
}];
