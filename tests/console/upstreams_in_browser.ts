/** The page of upstreams in a browser. */
import { assertEquals, assertMatch } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Case, type Desk, faultsOf, logIn, openPage, OPS } from "./desk.ts";
import { rigged, TEXT } from "./edits_in_browser.ts";

const KEYED: ConfigInput = { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] };

/** A host that does not know `top_k` and `min_p`. */
const app = () =>
  newApp({
    config: KEYED,
    now: Date.now,
    async fetch(input, init) {
      const body = await new Request(input, init).json();
      if (body.user === "unlucky") return Response.json({ error: { message: "Broken" } }, { status: 500 });
      const field = ["top_k", "min_p"].find((name) => name in body);
      if (field === undefined) return answerWhole();
      return Response.json({ error: { message: `Unrecognized request argument: ${field}` } }, { status: 400 });
    },
  });

/** What an upstream was found to refuse is listed, and forgotten by its button. */
async function forgotten(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  for (const field of ["top_k", "min_p"]) {
    const response = await desk.app.post(CHAT, chatBody({ [field]: 0.5 }), { "x-api-key": OPS });
    await response.text();
  }
  await (await desk.app.post(CHAT, chatBody({ user: "unlucky" }), { "x-api-key": OPS })).text();
  await logIn(desk);
  complaints.length = 0;
  await openPage(page, "Upstreams");
  const row = page.getByRole("row", { name: "fake org/model top_k left out one key" });
  await row.waitFor();
  const other = page.getByRole("row", { name: "fake org/model min_p left out one key" });
  await other.waitFor();
  // Both are forgotten by one button.
  assertEquals(await page.getByRole("button", { name: /^Forget/ }).count(), 1);
  assertEquals(await faultsOf(page), []);
  await page.getByRole("button", { name: "Forget all that org/model of fake refuses" }).press("Enter");
  for (const one of [row, other]) await one.waitFor({ state: "detached" });
  assertEquals(await page.getByText("What models were found to refuse").isVisible(), false);
  const strip = page.getByRole("img", { name: "fake in the last six hours: 3 calls, 33 % failed" });
  await strip.waitFor();
  const title = await strip.locator(".called").getAttribute("title");
  assertMatch(title!, /^\d\d:\d\d to \d\d:\d\d: 2 answered, 1 failed$/);
  const status = await (await desk.app.get("/status", { "x-api-key": OPS })).json();
  assertEquals([status.upstreams[0].refused, complaints], [undefined, []]);
}

const PRICED = TEXT.replace('"safe": {', '"safe": { "price": { "input": 0.5, "output": 2 },');

/** Notes whether the first row that the page shows has its buttons. */
const WATCHED = `new MutationObserver(() => {
  const row = document.querySelector("main tbody tr");
  if (row && window.first === undefined) window.first = row.querySelector(".row-actions button") !== null;
}).observe(document, { childList: true, subtree: true })`;

/** The tables of upstreams and models: nothing in them jumps, and they are searched and arranged. */
async function listed(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  await page.addInitScript(WATCHED);
  await page.goto(`${desk.url}/console/#upstreams`);
  await page.reload();
  await page.getByRole("rowheader", { name: "box" }).waitFor();
  assertEquals(await page.evaluate("window.first"), true);
  const table = page.getByRole("region", { name: "Upstreams" });
  await page.getByLabel("Filter").fill("spare");
  await table.getByText("Upstreams: 1", { exact: true }).waitFor();
  assertEquals(await table.getByRole("rowheader").allTextContents(), ["spare"]);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Waiting" }).uncheck();
  assertEquals(await table.getByRole("columnheader", { name: "Waiting" }).count(), 0);
  await openPage(page, "Models");
  const cells = (name: string) => page.locator("tbody tr", { hasText: name }).getByRole("cell").allTextContents();
  await page.getByRole("rowheader", { name: "safe" }).waitFor();
  const [lane, , targets, price] = await cells("safe");
  assertEquals([lane, targets, price], ["oss", "box/qwen3:32bspare/qwen3:32b", "$0.50 / $2.00"]);
  await page.getByLabel("Filter").fill("spare/qwen");
  await page.getByText("Models: 1", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Edit model “safe”" }).click();
  await page.locator("label", { hasText: "Weight" }).first().waitFor();
  assertEquals([await faultsOf(page), complaints], [[], []]);
}

export const upstreamCases: Case[] = [{
  name: "upstreams are searched and arranged, and their rows have their buttons at once",
  app: rigged(PRICED).app,
  run: listed,
}, {
  name: "what an upstream refuses is listed and forgotten",
  app,
  run: forgotten,
}];
