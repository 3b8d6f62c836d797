/** The playground in a browser. */
import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import type { Page } from "playwright-core";
import { CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { frame } from "../support/chat.ts";
import { until } from "../support/wait.ts";
import { type Case, type Desk, faultsOf, logIn, openPage } from "./desk.ts";

const EVIL = `<img src=x onerror="document.title='broken'">`;
const { model, sandbox } = CONFIG.lanes.oss.models;
const KEYED: ConfigInput = {
  ...CONFIG,
  lanes: { oss: { models: { sandbox, model } } },
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
};

/** An upstream whose answer thinks, begins, and never ends. */
const endless = () => {
  const encoder = new TextEncoder();
  const frames = [{ reasoning_content: "Let me see" }, { content: `Once upon ${EVIL}` }].map((delta) =>
    frame({ delta })
  );
  const body = new ReadableStream({ start: (controller) => controller.enqueue(encoder.encode(frames.join(""))) });
  return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
};

const answerOf = (page: Page, side: number) => page.getByRole("region", { name: `Answer from model ${side}` });

async function sideBySide(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  await openPage(page, "Playground");
  await page.getByLabel("Prompt", { exact: true }).fill("Tell me");
  assertEquals(await page.getByRole("region", { name: /^Answer/ }).count(), 0, "No answer is shown before it comes");
  await page.getByText("System prompt, tools, limits").click();
  const tools = page.getByLabel("Tools (a JSON list)");
  await tools.fill("[{}]");
  // Those who have a model are not shown the sandbox first.
  await until(async () => await page.getByLabel("Model 1", { exact: true }).inputValue() === "oss/model");
  await page.getByLabel("Model 2", { exact: true }).fill("oss/sandbox");
  await page.getByLabel("Model 2 API").selectOption("responses");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("alert").getByText('Tool 1 needs a "name"').waitFor();
  assertEquals(await tools.getAttribute("aria-invalid"), "true");
  await tools.fill('[{ "name": "look", "parameters": { "type": "object", "properties": {} } }]');
  await page.getByLabel(/^Images, chosen/).setInputFiles({
    name: "dot.gif",
    mimeType: "image/gif",
    buffer: Buffer.from("R0lGODlhAQABAAAAACwAAAAAAQABAAA=", "base64"),
  });
  await page.getByRole("img", { name: "dot.gif" }).waitFor();
  await page.getByRole("button", { name: "Remove dot.gif" }).click();
  await page.getByLabel("Prompt", { exact: true }).press("Control+Enter");
  const [one, two] = [answerOf(page, 1), answerOf(page, 2)];
  await one.getByText("Let me see").waitFor();
  await one.getByText("Once upon <img").waitFor();
  await two.getByText("Done").waitFor();
  await two.getByRole("listitem").getByText("look").waitFor();
  for (const fact of ["First token", "Full answer", "Tokens out", "sandbox/sandbox"]) {
    await two.getByText(fact, { exact: true }).waitFor();
  }
  assertEquals(await faultsOf(page), []);
  await page.getByRole("button", { name: "Stop" }).click();
  await one.getByText("Stopped").waitFor();
  const asked = () => desk.app.logs.filter(({ model }) => model !== undefined);
  await until(() => asked().length === 2);
  assertEquals(asked().map(({ key, model }) => `${key} ${model}`).sort(), ["ops model", "ops sandbox"]);
  assertEquals(complaints, []);
  // The request is found among all others.
  await two.getByRole("link", { name: /^req_/ }).click();
  await page.getByText("Requests, latest first: 1").waitFor();
}

export const playgroundCases: readonly Case[] = [{
  name: "playground: two models answer side by side, as they go, until they are stopped",
  app: () => newApp({ config: KEYED, now: Date.now, fetch: endless }),
  run: sideBySide,
}];
