/** The page of the configuration in a browser. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { pluginFacts } from "../../src/app.ts";
import { createConfigDesk } from "../../src/cli/config_desk.ts";
import { isThere } from "../../src/config/is_there.ts";
import { loadConfig } from "../../src/config/load.ts";
import { ENV, newApp } from "../support/app.ts";
import { type Case, type Desk, faultsOf, lastingStore, logIn, openPage } from "./desk.ts";

const CONFIG = {
  console: { edit: true },
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
  upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", headers: { "x-key": "hidden-from-all" } } },
  lanes: { oss: { upstreams: { chat: "fake" } } },
};
const TEXT = JSON.stringify(CONFIG, null, 2);
const EVIL = `<img src=x onerror="document.title='broken'">`;

/** The file, which is there while the gateway is. */
const file = Deno.makeTempFileSync();
globalThis.addEventListener("unload", () => {
  for (const path of [file, `${file}.laneway-former`]) if (isThere(path)) Deno.removeSync(path);
});

function edited() {
  Deno.writeTextFileSync(file, TEXT);
  const load = (_: unknown, readText?: (path: string) => string) =>
    loadConfig({ path: file, ...pluginFacts(), env: (name) => ENV[name], readText });
  let { config } = load(undefined);
  const desk = createConfigDesk({
    file,
    source: "gateway.json",
    load,
    platform: { env: (name) => ENV[name], os: "linux", isGranted: () => true },
    running: { app: () => ({}), config: () => config, reload: () => config = load(undefined).config },
  });
  return newApp({ config, now: Date.now, store: lastingStore(), configuration: () => Promise.resolve(desk) });
}

/** Resolves once the editor has the words. */
async function showing({ page }: Desk, words: string): Promise<void> {
  const editor = page.getByLabel("The file, without secrets");
  while (!(await editor.inputValue()).includes(words)) await page.waitForTimeout(20);
}

async function open(desk: Desk) {
  await openPage(desk.page, "Configuration");
  const editor = desk.page.getByLabel("The file, without secrets");
  await showing(desk, "upstream.test");
  return editor;
}

async function change(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  const editor = await open(desk);
  complaints.length = 0;
  const shown = await editor.inputValue();
  assertEquals(shown.includes("hidden-from-all"), false);
  assertEquals(await faultsOf(page), []);
  const apply = page.getByRole("button", { name: "Apply" });
  await editor.fill(shown.replace('"chat": "fake"', `"chat": ${JSON.stringify(EVIL)}`));
  await page.getByText("it cannot be applied").waitFor();
  await page.getByRole("button", { name: "line 26" }).press("Enter");
  assertEquals(await page.evaluate("document.activeElement.id"), "configuration");
  await page.keyboard.press("Home");
  await page.keyboard.type(" ");
  const line = (await editor.inputValue()).split("\n")[25]!;
  assert(/^ \s*"chat": "<img/.test(line), line);
  const inSight = await page.evaluate<boolean>(`{
    const { scrollTop, clientHeight, scrollHeight } = document.getElementById("configuration");
    const top = scrollHeight * 25 / document.querySelector(".line-numbers").dataset.lines;
    top >= scrollTop && top < scrollTop + clientHeight;
  }`);
  assert(inSight, "The problem's line is in sight");
  assertEquals((await page.locator(".line-numbers").innerText()).split("\n").length, shown.split("\n").length);
  assertEquals([await apply.isDisabled(), await page.locator("img").count()], [true, 0]);
  assertEquals(await faultsOf(page), []);

  await editor.fill(shown.replace('"console": {', '\n  "retry": { "rounds": 4 },\n  "console": {'));
  await page.getByText("It changes retry.rounds").waitFor();
  assertStringIncludes(
    await page.getByLabel("Changes, line by line").innerText(),
    '+   "retry": { "rounds": 4 },',
  );
  await openPage(page, "Upstreams");
  await openPage(page, "Configuration");
  await page.getByText("It changes retry.rounds").waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  assertEquals(await faultsOf(page), []);
  await apply.click();
  await page.getByText("Applied: the gateway now uses it").waitFor();
  assertEquals(JSON.parse(await Deno.readTextFile(file)), { ...CONFIG, retry: { rounds: 4 } });
  await page.getByRole("button", { name: "Previous version" }).click();
  await page.getByText("It changes retry.rounds").waitFor();
  await apply.click();
  await page.getByText("Applied: the gateway now uses it").waitFor();
  assertEquals(await Deno.readTextFile(file), TEXT);
  assertEquals(complaints, []);
}

/** By the keyboard alone: to what may stand there, into the text, and on. */
async function complete(desk: Desk): Promise<void> {
  const { page } = desk;
  const editor = await open(desk);
  await editor.focus();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type('"transp');
  await page.keyboard.press("Control+Space");
  await page.locator(".suggestions button:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+Space");
  await page.locator(".suggestions button:focus").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type(",");
  assertStringIncludes(await editor.inputValue(), '{"transport": "node",');
  await page.getByText("It changes transport").waitFor();
  await Deno.writeTextFile(file, TEXT.replace("oss", "lab"));
  await page.getByText("The file has changed in the meantime").waitFor();
  await page.getByRole("button", { name: "Undo my changes" }).click();
  await showing(desk, '"lab"');
  await page.setViewportSize({ width: 360, height: 640 });
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assertEquals(overflow, 0);
}

/** At the gateway's name, as behind a proxy: without keys nobody comes in there. */
async function lockOut(desk: Desk): Promise<void> {
  const { page, url } = desk;
  await logIn({ ...desk, url: url.replace("127.0.0.1", "gateway.test") });
  const editor = await open(desk);
  await editor.fill(JSON.stringify({ ...CONFIG, keys: [] }, null, 2));
  await page.getByText("the console will not open for you").waitFor();
  assertEquals(await page.getByRole("button", { name: "Apply" }).isEnabled(), true);
  await page.getByRole("button", { name: "Undo my changes" }).click();
}

/** One after the other, because they have one file. */
export const configurationCases: Case[] = [{
  name: "the configuration is changed, taken back and completed; who would be locked out is warned",
  app: edited,
  async run(desk) {
    await logIn(desk);
    await change(desk);
    await desk.page.reload();
    await complete(desk);
    await lockOut(desk);
  },
}];
