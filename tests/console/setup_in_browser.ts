/** The guide in a browser. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Page } from "playwright-core";
import { CHAT, chatBody, CONFIG } from "../support/app.ts";
import { until } from "../support/wait.ts";
import { type Case, type Desk, faultsOf, logIn } from "./desk.ts";
import { CODES, GOOD_KEY, type Rig, type Script, setupRig } from "./setup_rig.ts";

/** The rig of the case that runs: each case has its own. */
function scripted(name: string, script: Script, run: (desk: Desk, rig: Rig, script: Script) => Promise<void>): Case {
  let rig: Rig;
  const app = () => (rig = setupRig(script)).app;
  return { name: `guide: ${name}`, app, run: (desk) => run(desk, rig, script) };
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
const link = (page: Page, name: string) => page.getByRole("link", { name, exact: true });

async function isNarrow(page: Page): Promise<void> {
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assertEquals(overflow, 0, "The page is wider than the phone");
}

/** From the first page to the first request, as a newcomer goes. */
async function wholeWay({ page, url, complaints, app }: Desk, { tasks }: Rig, script: Script): Promise<void> {
  await page.setViewportSize({ width: 390, height: 700 });
  await page.goto(`${url}/console`);
  await page.getByText("Enter the code from your terminal").waitFor();
  assertStringIncludes(page.url(), "#setup");
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("One-time code").fill("wrong");
  await button(page, "Continue").click();
  await page.getByRole("alert").getByText("not the newest code").waitFor();
  complaints.length = 0; // that the code was wrong
  await page.getByLabel("One-time code").fill(` ${CODES[0]} `);
  await page.keyboard.press("Enter");

  await page.getByLabel("A server on this machine").check();
  await button(page, "Add Ollama 0.14").click();
  await page.getByText("Ollama 0.14 answers: 2 models").waitFor();
  await isNarrow(page);
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("A provider's API key").check();
  await page.getByLabel("Find your provider").fill("groq");
  await page.getByRole("radio", { name: "Groq", exact: true }).check();
  await page.getByLabel("Groq API key").fill("a-wrong-key");
  await button(page, "Test and add").click();
  await page.getByRole("alert").getByText("The service refuses this key (status 401). ").waitFor();
  await page.getByText("Copy it again.").waitFor();
  assertEquals(await page.getByLabel("Groq API key").inputValue(), "a-wrong-key");
  await page.getByLabel("Groq API key").fill(GOOD_KEY);
  await page.keyboard.press("Enter");
  await page.getByText("Groq answers: 2 models").waitFor();
  assertEquals(await faultsOf(page), []);

  await link(page, "Choose models").click();
  assertEquals(await page.getByLabel("Name of qwen3:8b").inputValue(), "qwen3-8b");
  assert(await page.getByRole("radio", { name: "qwen3-8b is the default" }).isChecked());
  await page.getByLabel("Name of fast-70b").fill("fast");
  await page.keyboard.press("Tab");
  await page.getByRole("radio", { name: "fast is the default" }).check();
  await isNarrow(page);
  assertEquals(await faultsOf(page), []);
  // The click that leaves a name also counts, and a pattern is no name.
  await page.getByLabel("Name of qwen3:8b").fill("my qwen*");
  await link(page, "Review the files").click();

  await page.getByText("only you can read it (mode 0600)").waitFor();
  const text = await page.getByLabel("Text of gateway.json").innerText();
  assertStringIncludes(text, "// Every name that is not listed");
  assertStringIncludes(text, '"fast": {');
  assert(!(await page.content()).includes(GOOD_KEY), "No secret is on the page");
  await isNarrow(page);
  assertEquals(await faultsOf(page), []);
  script.refusal = "The folder /home/anna cannot be written";
  await button(page, "Write these 2 files").click();
  await page.getByText("Nothing was written. The folder /home/anna cannot be written").waitFor();
  delete script.refusal;
  script.isOutdated = true;
  await button(page, "Write these 2 files").click();
  await page.getByText("Another page or an editor has changed a file: look at the files again, then write.").waitFor();
  delete script.isOutdated;
  await button(page, "look at the files again").click();
  const [write, back] = [button(page, "Write these 2 files"), link(page, "Back")];
  const [one, other] = [await write.boundingBox(), await back.boundingBox()];
  assert(one!.y < other!.y + other!.height && other!.y < one!.y + one!.height, "They stand on one row");
  await write.click();
  await page.getByText("Written. The gateway has restarted and uses it now.").waitFor();
  await page.getByRole("heading", { name: "The files are written" }).waitFor();
  await link(page, "Files (done)").waitFor();
  const written = tasks.findLast((task) => task.do === "write");
  assert(written?.do === "write");
  const answers = written.answers as { default?: string; models: { name: string }[] };
  assertEquals([answers.default, answers.models[0]?.name], ["fast", "my-qwen"]);
  await page.getByText("How to undo it").click();
  await page.getByText("rm '/home/anna/gateway.json'").waitFor();
  await page.getByText("Then restart the gateway").waitFor();

  await link(page, "Connect a client").click();
  await button(page, "Show the change: Claude Code").click();
  await page.getByText('+   "model": "sandbox"').waitFor();
  await button(page, "Connect: Claude Code").click();
  await page.getByText("Claude Code works with this gateway.").waitFor();
  await link(page, "Client (done)").waitFor();
  await isNarrow(page);
  assertEquals(await faultsOf(page), []);
  await button(page, "Undo: Claude Code").click();
  await page.getByText("Claude Code is as it was before.").waitFor();

  await link(page, "Send your first request").click();
  await page.getByText("Waiting for a request").waitFor();
  await page.waitForResponse(/api\/live/);
  await (await app.post(CHAT, chatBody({ model: "sandbox" }), { "user-agent": "agent/1.0" })).text();
  await page.getByText("It works: your request has arrived and was answered.").waitFor();
  await page.getByRole("region", { name: "The request" }).getByText("agent/1.0", { exact: true }).waitFor();
  await isNarrow(page);
  assertEquals(await faultsOf(page), []);
  assertEquals(complaints, []);
}

/** A code opens one tab. The other one says where the next code is, and goes on with it. */
async function secondTab({ page, url }: Desk, _: Rig, script: Script): Promise<void> {
  await page.goto(`${url}/console/#setup?code=${CODES[0]}`);
  await page.getByLabel("A server on this machine").waitFor();
  assert(!page.url().includes("code"), "The code leaves the address");
  await page.reload();
  await page.getByLabel("A server on this machine").waitFor();
  const other = await page.context().newPage();
  await other.goto(`${url}/console/#setup?code=${CODES[0]}`);
  await other.getByRole("alert").getByText("not the newest code: the terminal shows it").waitFor();
  await other.getByText("Each code opens one tab").waitFor();
  await other.getByLabel("One-time code").fill(CODES[1]!);
  await button(other, "Continue").click();
  await other.getByLabel("Only the sandbox").check();
  script.isForgetful = true;
  await button(other, "Use the sandbox").click();
  await other.getByRole("alert").getByText("Give the one-time code from the terminal first").waitFor();
  await other.getByLabel("One-time code").fill(CODES[2]!);
  await button(other, "Continue").click();
  await other.getByText("Sandbox answers: 1 model.").waitFor();
  await other.close();
}

/** A server that is down, no server at all, and a long list. */
async function servers({ page, url }: Desk): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${url}/console/#setup?upstream`);
  await page.getByLabel("A server on this machine").check();
  await page.getByText("No model server answers on this machine.").waitFor();
  await page.getByLabel("Address", { exact: true }).fill("http://127.0.0.1:1/v1");
  await button(page, "Test and add").click();
  await page.getByRole("alert").getByText("the connection was refused. ").waitFor();
  await page.getByText("Start the server.").waitFor();
  await page.getByLabel("Address", { exact: true }).fill("foo bar");
  await button(page, "Test and add").click();
  await page.getByText("foo bar was not added.").waitFor();
  await page.getByLabel("Address", { exact: true }).fill(`localhost:${new URL(url).port}/oss/v1`);
  await button(page, "Test and add").click();
  await page.getByRole("alert").getByText("This is the address of this gateway").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.getByRole("radio", { name: /^A .* token/ }).check();
  await page.getByLabel("Token", { exact: true }).fill(GOOD_KEY);
  await button(page, "Test and add").click();
  await page.getByText("153 models").first().waitFor();
  await link(page, "Choose models").click();
  assertEquals(await page.getByLabel("Name of openai/gpt-oss-120b").inputValue(), "gpt-oss-120b");
  await page.getByText("53 more: search for them.").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.getByLabel(/^Find a model/).fill("glm");
  await page.getByRole("checkbox", { name: "zai-org/GLM-5.3" }).press("Space");
  assertEquals(await page.getByLabel("Name of zai-org/GLM-5.3").inputValue(), "glm-5.3");
  assert(await page.evaluate("document.activeElement?.value === 'zai-org/GLM-5.3'"), "The focus stays on the box");
  await button(page, "Remove gpt-oss-120b").click();
  assert(await page.getByRole("radio", { name: "glm-5.3 is the default" }).isChecked());
  // The entries exist in this page only, so the browser asks before they are lost.
  const asked = page.waitForEvent("dialog");
  await page.evaluate("setTimeout(() => location.reload())");
  const dialog = await asked;
  assertEquals(dialog.type(), "beforeunload");
  await dialog.dismiss();
  assert(await page.getByRole("radio", { name: "glm-5.3 is the default" }).isChecked());
}

/** Each step without a launcher: the reason, and what to type. */
async function withoutLauncher({ page, url }: Desk, { tasks }: Rig): Promise<void> {
  await page.goto(`${url}/console`);
  await page.getByText("A container has no launcher. The commands and texts below do the same.").waitFor();
  await page.getByLabel("A provider's API key").check();
  await page.getByRole("radio", { name: "Groq", exact: true }).check();
  assertEquals(await page.locator("input[type=password]").count(), 0);
  await button(page, "Add").click();
  await link(page, "Choose models").click();
  await page.getByLabel("Model, as groq calls it").fill("openai/gpt-oss-20b");
  await button(page, "Add model").click();
  await link(page, "Review the files").click();
  const command = await page.getByLabel("The command", { exact: true }).innerText();
  assertEquals(
    command,
    "deno task -q laneway init --provider groq --model gpt-oss-20b=groq/openai/gpt-oss-20b --default gpt-oss-20b",
  );
  assertEquals(await faultsOf(page), []);
  await link(page, "Connect a client").click();
  await page.getByText("deno task -q laneway connect <client> --url").waitFor();
  assertEquals(await faultsOf(page), []);
  assertEquals(tasks, []);
}

/** A client whose proof fails: the reason is shown, step by step. */
async function failingClient({ page, url }: Desk, _: Rig, script: Script): Promise<void> {
  const held = Promise.withResolvers<void>();
  Object.assign(script, { proof: held.promise, failure: "Claude Code answered with an error: no such model" });
  await page.goto(`${url}/console/#setup?client`);
  await button(page, "Connect: Claude Code").click();
  assertEquals(await button(page, "Connect: opencode").count(), 0, "It is not installed");
  await page.getByText("A client on another machine").click();
  await page.getByRole("combobox", { name: "Client", exact: true }).selectOption("opencode");
  await page.getByText("deno task -q laneway connect opencode --url http://ADDRESS-OF-THIS-MACHINE:").waitFor();
  assertEquals(await link(page, "create keys").getAttribute("href"), "#keys");
  await page.getByText("Running the client for one turn").waitFor();
  assert(await button(page, "Connect: Claude Code").isDisabled());
  held.resolve();
  assertEquals(await faultsOf(page), []);
  await page.getByText("Claude Code was not changed. Claude Code answered with an error: no such model").waitFor();
  Object.assign(script, { failure: "The gateway refuses the key", keyCure: "create one with: keys create" });
  await button(page, "Connect: Claude Code").click();
  await page.getByText("Claude Code was not changed. The gateway refuses the key").waitFor();
  assertEquals(await link(page, "Create a key").getAttribute("href"), "#keys");
  assertEquals(await page.getByText("keys create").count(), 0, "The terminal's words");
}

/** A file that is there is changed, not replaced; what needs a restart by hand says what to type. */
async function changing({ page, url }: Desk): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${url}/console`);
  await page.getByRole("heading", { name: "Live" }).waitFor();
  await page.getByRole("link", { name: "Upstreams" }).click();
  await link(page, "Add upstream").click();
  await page.getByLabel("Only the sandbox").check();
  await button(page, "Use the sandbox").click();
  await link(page, "Choose models").click();
  await link(page, "Review the files").click();
  await page.getByText("New hosts need a restart.").waitFor();
  assertStringIncludes(await page.getByLabel("Changes, line by line").innerText(), '+   "lanes": {');
  assertEquals(await faultsOf(page), []);
  await page.getByText("/home/anna/gateway.json", { exact: true }).waitFor();
  await button(page, "Write this file").click();
  await page.getByText("Stop it with Ctrl+C in its terminal, then type:").waitFor();
  await page.getByText("deno task -q laneway --config here").waitFor();
}

/** Pages of a gateway on which nothing is turned on. */
async function emptyPages({ page, url }: Desk, { tasks }: Rig): Promise<void> {
  const PAGES = {
    Live: "No request has arrived since the gateway started.",
    Inspect: "Nothing is recorded.",
    Usage: "Usage is not recorded.",
    "Keys and teams": "There are no keys",
    Playground: "Only the sandbox answers now",
  };
  await page.goto(`${url}/console/#live`);
  await page.getByText(PAGES.Live).waitFor();
  assertEquals(await page.getByRole("columnheader").count(), 0, "A table without rows has no heads");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [name, words] of Object.entries(PAGES)) {
      await link(page, name).click();
      await page.getByText(words).waitFor();
      assertEquals(await faultsOf(page), [], name);
    }
  }
  await page.getByLabel("Model 1", { exact: true }).waitFor();
  await until(async () => await page.getByLabel("Model 1", { exact: true }).inputValue() === "oss/sandbox");
  await link(page, "Inspect").click();
  await button(page, "Record requests …").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText('"console": { "record": {} }').waitFor();
  assertEquals(await faultsOf(page), []);
  await dialog.getByRole("button", { name: "Write this file" }).click();
  await dialog.getByText("Written. The gateway uses it now.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  const written = tasks.findLast((task) => task.do === "write");
  assert(written?.do === "write");
  assertEquals(written.answers, { sources: [], models: [], settings: { console: { record: {} } } });
}

/** The sidebar leads to the guide while nobody has set up the gateway, and each of its steps belongs to a page. */
async function sidebar({ page, url }: Desk): Promise<void> {
  const current = async () => await page.locator(".sidebar [aria-current]").allTextContents();
  await page.goto(`${url}/console`);
  await page.getByRole("heading", { name: "Where do your models come from?" }).waitFor();
  assertEquals(await current(), ["Set up"]);
  await link(page, "Models").first().click();
  await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
  await page.getByRole("row", { name: "glm-5.3" }).getByText("has no secret: set HUB_TOKEN").waitFor();
  await page.getByRole("row", { name: "sandbox" }).getByText("works").waitFor();
  assertEquals(await current(), ["Models"]);
  assertEquals(await faultsOf(page), []);
  await link(page, "Clients").click();
  await page.getByRole("heading", { name: "Clients" }).waitFor();
  await button(page, "Connect: Claude Code").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("add model");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Which models do you want to use?" }).waitFor();
  assertEquals(await current(), ["Set up"]);
}

/** A gateway that was set up shows no guide in the sidebar, and its steps as what they are. */
async function sidebarLater({ page, url }: Desk): Promise<void> {
  await page.goto(`${url}/console/#models`);
  await link(page, "Add model").click();
  await page.getByRole("heading", { name: "Add model" }).waitFor();
  const here = page.locator(".sidebar [aria-current]");
  assertEquals([await here.allTextContents(), await here.getAttribute("aria-current")], [["Models"], "true"]);
  assertEquals(await link(page, "Set up").count(), 0);
}

/** Enter in the field of the key goes on to the clients that it is for. */
async function keyByEnter(desk: Desk): Promise<void> {
  const { page, url } = desk;
  await logIn(desk);
  await page.goto(`${url}/console/#setup?client`);
  await button(page, "Connect: Claude Code").waitFor();
  await page.getByLabel("Key for the client").fill("a-key");
  await page.keyboard.press("Enter");
  await until(() => page.evaluate("document.activeElement?.textContent === 'Connect'"));
  assertEquals(await page.getByLabel("Key for the client").inputValue(), "a-key");
  await page.keyboard.press("Enter");
  await page.getByText("Claude Code works with this gateway.").waitFor();
}

export const setupCases: readonly Case[] = [
  scripted(
    "from nothing to the first request, on a phone",
    { needsCode: true, effect: { outcome: "restarted" }, restart: "A new host needs a restart" },
    wholeWay,
  ),
  scripted("a code opens one tab, and its address forgets it", { needsCode: true }, secondTab),
  scripted("servers that are down or absent, and long lists", { servers: [] }, servers),
  scripted("without a launcher it says what to type", { why: "A container has no launcher." }, withoutLauncher),
  {
    name: "guide: Enter in the key's field goes on to the clients",
    app: () =>
      setupRig({ isFresh: false }, {
        config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] },
      }).app,
    run: keyByEnter,
  },
  scripted("a client that fails its test", { isFresh: false }, failingClient),
  scripted(
    "a file that is there is changed, and used by hand",
    {
      isFresh: false,
      folder: "/home/anna",
      restart: "New hosts need a restart",
      effect: { outcome: "by-hand", command: "deno task -q laneway --config here" },
    },
    changing,
  ),
  scripted("the sidebar leads to it on a fresh start", {}, sidebar),
  scripted("its steps are in the sidebar's pages later", { isFresh: false }, sidebarLater),
  scripted("pages that have nothing yet say what would be there", {}, emptyPages),
];
