/** The guide in a browser, before a gateway that its launcher started, with servers that are fakes. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Page } from "playwright-core";
import { chatServer, withServer } from "../programs/probed.ts";
import { type Launched, runLaunched, withFolder, withLaunched } from "../support/process.ts";
import { browser } from "./desk.ts";

const reason = browser ? "" : " (skipped: no Chromium on this machine)";
const GOOD_KEY = "a-key-that-is-good";

/** A provider that knows one key. */
const provider = (request: Request) =>
  request.headers.get("api-key") === GOOD_KEY
    ? chatServer({ models: [{ id: "paid-large" }], message: () => ({ content: "from the provider" }) })(request)
    : Promise.resolve(Response.json({ error: { message: "Invalid API key" } }, { status: 401 }));
const server = chatServer({ models: [{ id: "qwen3:8b" }], message: () => ({ content: "from the server" }) });

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
const link = (page: Page, name: string) => page.getByRole("link", { name, exact: true });

async function codeIn({ said }: Launched, from = 0): Promise<string> {
  const text = await said("one-time code", from);
  return /one-time code.* ([A-Z0-9]{4}-[A-Z0-9]{4})/.exec(text.slice(from))![1]!;
}

async function addSources(page: Page, urls: { server: string; provider: string }): Promise<void> {
  await page.getByLabel("A server on this machine").check();
  await page.getByLabel("Address", { exact: true }).fill("http://127.0.0.1:1/v1");
  await button(page, "Test and add").click();
  await page.getByRole("alert").getByText("was not added").waitFor();
  await page.getByLabel("Address", { exact: true }).fill(urls.server);
  await button(page, "Test and add").click();
  await page.getByText("answers: 1 model").waitFor();
  await page.getByLabel("A provider's API key").check();
  await page.getByLabel("Find your provider").fill("azure");
  await page.getByRole("radio", { name: /^Azure/ }).check();
  await page.getByLabel(/^Its address/).fill(`${urls.provider}/v1`);
  await page.getByLabel(/API key$/).last().fill("a-wrong-key");
  await button(page, "Test and add").click();
  await page.getByRole("alert").getByText("was not added").waitFor();
  await page.getByLabel(/API key$/).last().fill(GOOD_KEY);
  await button(page, "Test and add").click();
  await page.getByText('upstream "azure": 1 model').waitFor();
}

async function wholeWay(page: Page, gateway: Launched, folder: string, urls: { server: string; provider: string }) {
  await page.goto(`${gateway.url}/console`);
  const first = await codeIn(gateway);
  const from = gateway.position();
  await page.getByLabel("One-time code").fill(first);
  await button(page, "Continue").click();
  await addSources(page, urls);
  await link(page, "Choose models").click();
  await page.getByRole("radio", { name: "paid-large is the default" }).check();
  await Deno.chmod(folder, 0o555);
  await link(page, "Review the files").click();
  await page.getByRole("alert").getByText(`There is no permission to write in ${folder}`).waitFor();
  await Deno.chmod(folder, 0o755);
  await button(page, "Try again").click();
  await button(page, "Write these 2 files").click();
  await page.getByText("Written.").waitFor();
  const text = await Deno.readTextFile(`${folder}/gateway.json`);
  assertStringIncludes(text, "//");
  assert(!text.includes(GOOD_KEY));
  const { mode } = await Deno.stat(`${folder}/gateway.azure.secret`);
  assertEquals(mode! & 0o777, 0o600);
  await link(page, "Connect a client").click();
  await button(page, "Show the change: Continue").click();
  await page.getByRole("region", { name: "config.yaml" }).getByText("oss/v1").waitFor();
  await button(page, "Connect: Continue").click();
  await page.getByText("Continue works with this gateway.").waitFor();
  const settings = `${folder}/../.continue/config.yaml`;
  assertStringIncludes(await Deno.readTextFile(settings), "paid-large");
  await button(page, "Undo: Continue").click();
  await page.getByText("Continue is as it was before.").waitFor();
  await link(page, "Send your first request").click();
  await button(page, "Send one from this page").click();
  await page.getByText("It works: your request has arrived and was answered.").waitFor();

  await secondTab(page, gateway, { first, from });
}

/** A code opens one tab. */
async function secondTab(page: Page, gateway: Launched, { first, from }: { first: string; from: number }) {
  const other = await page.context().newPage();
  await other.goto(`${gateway.url}/console/#setup?upstream`);
  await other.getByLabel("One-time code").fill(first);
  await button(other, "Continue").click();
  await other.getByRole("alert").getByText(/./).waitFor();
  await other.getByLabel("One-time code").fill(await codeIn(gateway, from));
  await button(other, "Continue").click();
  await other.getByLabel("A server on this machine").waitFor();
  await other.close();
}

/** The buttons of pages that have nothing to show. */
async function turnOn(page: Page): Promise<void> {
  for (
    const [name, words, change, after] of [
      ["Inspect", "Record requests …", '"record": {}', "Requests are recorded from now on."],
      ["Usage", "Record usage …", '"usage": {}', "Nothing was used in this period."],
      ["Configuration", "Edit it here …", '"edit": true', "Ctrl+Space moves to the suggestions"],
    ] as const
  ) {
    await link(page, name).click();
    await button(page, words).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(change).last().waitFor();
    await dialog.getByRole("button", { name: "Write this file" }).click();
    await dialog.getByText("Written.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText(after).waitFor();
  }
}

/** A model of an upstream that is there, and an upstream at another host, which needs a restart. Both are taken back. */
async function changeInPlace(page: Page, folder: string, serverUrl: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  const write = async () => {
    await button(page, "Write this file").click();
    await dialog.getByText("uses it now.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
  };
  const read = () => Deno.readTextFile(`${folder}/gateway.json`);
  await link(page, "Models").click();
  await button(page, "Add model").click();
  await page.getByLabel("Name", { exact: true }).fill("large");
  await page.getByLabel("Upstream of target 1").selectOption("azure");
  await page.getByLabel("Model of target 1").fill("paid-large");
  await button(page, "Show the change").click();
  await page.getByLabel("Changes, line by line").getByText('"large"').waitFor();
  await write();
  await page.getByRole("rowheader", { name: "large", exact: true }).waitFor();
  const before = await read();
  await link(page, "Upstreams").click();
  await button(page, "Test upstream “azure”").click();
  await dialog.getByText("answers").waitFor();
  await page.keyboard.press("Escape");
  await button(page, "Add upstream").click();
  await page.getByLabel("Name", { exact: true }).fill("second");
  await page.getByLabel("Base URL").fill(serverUrl.replace("127.0.0.1", "localhost"));
  await button(page, "Test it").click();
  await dialog.getByText("1 model").waitFor();
  await button(page, "Show the change").click();
  await dialog.getByText("New permissions need a restart").waitFor();
  await write();
  await page.getByRole("row", { name: "second chat ready" }).waitFor();
  await button(page, "Test upstream “second”").click();
  await dialog.getByText("1 model").waitFor();
  await page.keyboard.press("Escape");
  await button(page, "Undo this change …").click();
  await write();
  await page.getByRole("rowheader", { name: "second" }).waitFor({ state: "detached" });
  assertEquals(await read(), before);
}

/** From no keys to a key for a team, with a budget. */
async function teamKey(page: Page, operatorKey: string): Promise<void> {
  await link(page, "Keys and teams").click();
  await button(page, "Create keys here …").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText('+   "storedKeys": true').waitFor();
  await dialog.getByRole("button", { name: "Write this file" }).click();
  await dialog.getByText("Written.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByLabel("Operator key").fill(operatorKey);
  await button(page, "Log in").click();
  await button(page, "New key").click();
  await page.getByLabel("Name", { exact: true }).fill("team");
  await page.getByLabel("Budget in dollars").fill("5");
  await button(page, "Create").click();
  await page.getByLabel(/copy it now/).waitFor();
}

/** The rest of the way, on a gateway in a folder of its own. */
async function inFolder(folder: string, urls: { server: string; provider: string }): Promise<void> {
  const { chromium } = await import("playwright-core");
  const opened = await chromium.launch({ executablePath: browser, headless: true });
  const place = { cwd: `${folder}/work`, env: { HOME: folder, XDG_DATA_HOME: `${folder}/data` } };
  await Deno.mkdir(place.cwd);
  // A client counts as installed if its folder is there. Its proof then asks the gateway in its place.
  await Deno.mkdir(`${folder}/.continue`);
  try {
    await withLaunched([], place, async (gateway) => {
      const context = await opened.newContext();
      // Each command is a process, and other tests run beside this one.
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      await wholeWay(page, gateway, place.cwd, urls);
      await changeInPlace(page, place.cwd, urls.server);
      await turnOn(page);
      const made = await runLaunched(["keys", "create", "me", "--operator"], place);
      await teamKey(page, made.stdout.trim());
    });
  } finally {
    await opened.close();
  }
}

Deno.test({
  name: `console: the guide sets up a real gateway, connects a client, and makes a key for a team${reason}`,
  ignore: !browser,
  // The driver of the browser keeps what it opened until the process ends.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withFolder((folder) =>
      withServer(
        server,
        (serverUrl) =>
          withServer(provider, (providerUrl) => inFolder(folder, { server: `${serverUrl}/v1`, provider: providerUrl })),
      )
    ),
});
