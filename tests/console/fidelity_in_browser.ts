/** The page of fidelity in a browser. */
import { assertEquals } from "@std/assert";
import { CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { type Case, type Desk, logIn, openPage } from "./desk.ts";

const { models } = CONFIG.lanes.oss;
const LONG_NAME = "m".repeat(200);

const KEYED: ConfigInput = {
  ...CONFIG,
  lanes: { oss: { models: { ...models, [LONG_NAME]: models.model } } },
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
};

async function whatIsKept(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  await openPage(page, "Fidelity");
  await page.getByText("fake/org/model speaks chat. No model was called.").waitFor();
  const requests = page.getByRole("region", { name: "What the client sends" });
  const rowOf = (field: string) => requests.getByRole("row").filter({ has: page.getByText(field, { exact: true }) });
  await rowOf("stop_sequences").getByRole("cell", { name: "as stop" }).waitFor();
  await page.getByLabel("Show").selectOption("dropped");
  await rowOf("stop_sequences").waitFor({ state: "detached" });
  await rowOf("cache_control").getByText("dropped").waitFor();
  await page.getByLabel("Client's wire").selectOption("chat");
  await page.getByLabel("Show").selectOption("");
  await rowOf("seed").getByText("carried", { exact: true }).waitFor();
  assertEquals(complaints, []);
  await page.getByLabel("Model").selectOption("oss/sandbox");
  await page.getByText(/has its own wire/).waitFor();
  assertEquals(await requests.count(), 0);
  await page.setViewportSize({ width: 360, height: 640 });
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assertEquals(overflow, 0, "A long name makes the page wider than the phone");
}

async function asksAgain(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await page.route(/api\/fidelity\?/, (route) => route.abort(), { times: 1 });
  await openPage(page, "Fidelity");
  await page.getByText("fake/org/model speaks chat. No model was called.").waitFor();
}

export const fidelityCases: readonly Case[] = [{
  name: "fidelity: a table that did not come is asked for again",
  app: () => newApp({ config: KEYED, now: Date.now }),
  run: asksAgain,
}, {
  name: "fidelity: the fields of a wire at a configured model, by what becomes of them",
  app: () => newApp({ config: KEYED, now: Date.now }),
  run: whatIsKept,
}];
