/** Upstreams and models that are changed on their pages, in a browser. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { pluginFacts } from "../../src/app.ts";
import { createConfigDesk } from "../../src/cli/config_desk.ts";
import { isThere } from "../../src/config/is_there.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { ConfigurationDesk } from "../../src/context/console.ts";
import type { SetupDesk } from "../../src/context/setup.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Platform } from "../../src/platform/platform.ts";
import type { Answers, Source } from "../../src/programs/init/answers.ts";
import { checkSource } from "../../src/programs/init/check_source.ts";
import { plan, write } from "../../src/programs/init/work.ts";
import { ENV, newApp, type TestApp } from "../support/app.ts";
import { type Case, type Desk, faultsOf, lastingStore, logIn, openPage } from "./desk.ts";

export const TEXT = `// Ours
{
  "console": { "edit": true },
  "keys": [
    { "name": "ops", "secret": { "env": "TEAM_KEY" }, "operator": true },
    { "name": "guest", "secret": { "env": "GUEST_KEY" }, "models": ["fast"] }
  ],
  "upstreams": {
    // The box under the table
    "box": { "driver": "chat", "baseUrl": "http://box.test/v1", "headers": { "x-key": "hidden-from-all" }, },
    "spare": { "driver": "chat", "baseUrl": "http://spare.test/v1" },
  },
  "lanes": {
    "oss": {
      "models": {
        // The one that everybody uses
        "fast": { "task": "chat", "targets": [{ "upstream": "box", "model": "qwen3:8b" }] },
        "safe": {
          "task": "chat",
          "targets": [
            { "upstream": "box", "model": "qwen3:32b" }, // at home
            { "upstream": "spare", "model": "qwen3:32b" }
          ]
        }
      }
    }
  }
}
`;

interface Rig {
  file: string;
  /** Whether the servers answer. */
  isUp: boolean;
}

export function rigged(text = TEXT, isLaunched = false): { rig: Rig; app: Case["app"] } {
  const file = Deno.makeTempFileSync();
  globalThis.addEventListener("unload", () => {
    for (const path of [file, `${file}.laneway-former`]) if (isThere(path)) Deno.removeSync(path);
  });
  const rig = { file, isUp: true };
  const store = lastingStore();
  const app = () => {
    Deno.writeTextFileSync(file, text);
    const load = (_: unknown, readText?: (path: string) => string) =>
      loadConfig({ path: file, ...pluginFacts(), env: (name) => ENV[name], readText });
    let { config } = load(undefined);
    const fetch = () =>
      rig.isUp
        ? Promise.resolve(Response.json({ data: [{ id: "qwen3:8b" }, { id: "qwen3:32b" }] }))
        : Promise.reject(new TypeError("tcp connect error: Connection refused"));
    const isGranted = () => true;
    const setup = isLaunched ? { setup: () => Promise.resolve(launcherOf(file, fetch, () => reload())) } : {};
    const serve = () => newApp({ config, now: Date.now, store, configuration: () => Promise.resolve(desk), ...setup });
    const reload = () => {
      config = load(undefined).config;
      serving = serve();
    };
    const desk: ConfigurationDesk = createConfigDesk({
      file,
      source: "gateway.json",
      load,
      platform: { ...deno, env: (name) => ENV[name], os: "linux", isGranted, fetch },
      running: { app: () => ({}), config: () => config, reload },
    });
    let serving = serve();
    return { ...serving, fetch: (...asked: Parameters<TestApp["fetch"]>) => serving.fetch(...asked) };
  };
  return { rig, app };
}

/** A launcher that runs `init` in this process. */
function launcherOf(file: string, fetch: Platform["fetch"], reload: () => void): SetupDesk {
  const platform: Platform = { ...deno, env: (name) => ENV[name], fetch };
  const place = { path: file, program: { platform, plugins: {} } };
  return {
    file,
    isFresh: false,
    command: "deno task -q laneway",
    platform: "linux",
    state: () => Promise.resolve({ needsCode: false, isOpen: true }),
    open: () => Promise.resolve(""),
    run(task) {
      if (task.do === "plan") return Promise.resolve(plan(task.answers as Answers, place));
      if (task.do === "write") return Promise.resolve(write(task.answers as Answers, task.version, place));
      return task.do === "check" ? checkSource(task.source as Source, place) : Promise.resolve({});
    },
    stream: () => Promise.resolve(new ReadableStream()),
    examine: () => Promise.resolve(),
    titles: () => Promise.resolve(new Map()),
    restartFor: () => undefined,
    use() {
      reload();
      return Promise.resolve({ outcome: "applied" });
    },
  };
}

const read = ({ file }: Rig) => Deno.readTextFile(file);
const button = ({ page }: Desk, name: string) => page.getByRole("button", { name, exact: true });

async function openUpstreams(desk: Desk): Promise<void> {
  await logIn(desk);
  desk.complaints.length = 0;
  await openPage(desk.page, "Upstreams");
  await button(desk, "Edit upstream “box”").waitFor();
}

/** An upstream is added by the keyboard, after its mistakes were said beside their fields; then the change is taken back. */
const { rig: adding, app: added } = rigged();
async function add(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await openUpstreams(desk);
  await button(desk, "Add upstream").press("Enter");
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("Name", { exact: true }).fill("box");
  await page.getByLabel("Base URL").fill("not an address");
  await page.getByLabel("Base URL").press("Enter");
  await page.getByText("There is an upstream of this name already.").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("gpu");
  await page.getByLabel("Base URL").press("Enter");
  await page.locator('[inputmode="url"][aria-invalid="true"]').waitFor();
  const problem = await page.getByLabel("Base URL").getAttribute("aria-describedby");
  await page.locator(`[id="${problem}"].error`).waitFor();
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("Base URL").fill("http://gpu.test/v1");
  await page.getByLabel("Secret", { exact: true }).selectOption("In an environment variable");
  await page.getByLabel("Name of the variable").fill("GPU_KEY");
  await button(desk, "Add a header").click();
  await page.getByLabel("Header 1", { exact: true }).fill("x-team");
  await page.getByLabel("Value of header 1").fill("blue");
  await page.getByText("Limits", { exact: true }).click();
  await page.getByLabel("Requests at once").fill("4");
  await page.getByLabel("Seconds for an answer as a whole").fill("90");
  await page.getByLabel("Base URL").press("Enter");
  const lines = page.getByLabel("Changes, line by line");
  assertStringIncludes(await lines.innerText(), '+     "gpu": {');
  assertEquals([await read(adding), await faultsOf(page)], [TEXT, []]);
  await page.keyboard.press("Tab");
  await button(desk, "Back to the form").press("Enter");
  assertEquals(await page.evaluate("document.activeElement.closest('.change-form') !== null"), true);
  assertEquals(await page.getByLabel("Requests at once").inputValue(), "4");
  await page.getByLabel("Base URL").press("Enter");
  await button(desk, "Write this change").press("Enter");
  await page.getByText("Upstream “gpu” was added. The gateway uses it now.").waitFor();
  await page.getByRole("rowheader", { name: "gpu" }).waitFor();
  const after = await read(adding);
  for (const kept of ["// Ours", "// The box under the table", "// at home", "hidden-from-all"]) {
    assertStringIncludes(after, kept);
  }
  const own = { headers: { "x-team": "blue" }, concurrency: { running: 4 }, timeouts: { wholeMs: 90_000 } };
  for (const [name, value] of Object.entries(own)) {
    assertStringIncludes(
      after.replace(/\s+/g, " "),
      `"${name}": ${
        JSON.stringify(value).replace(/[{}:,]/g, (mark) => ({ "{": "{ ", "}": " }", ":": ": ", ",": ", " })[mark]!)
      }`,
    );
  }
  await page.getByText("by ops").waitFor();
  assertEquals(await faultsOf(page), []);
  await button(desk, "Undo this change …").press("Enter");
  await button(desk, "Take it back").press("Enter");
  await page.getByText("Taken back: Upstream “gpu” was added. The gateway uses it now.").waitFor();
  assertEquals([await read(adding), complaints], [TEXT, []]);
}

/** A test says what is wrong; removing says first what would break, and takes it out of there. */
const { rig: removing, app: removed } = rigged();
async function remove(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await openUpstreams(desk);
  removing.isUp = false;
  await button(desk, "Test upstream “box”").click();
  await page.getByText("Nothing is listening at box.test").waitFor();
  removing.isUp = true;
  await button(desk, "Test again").click();
  await page.getByText("2 models").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.keyboard.press("Escape");
  await button(desk, "Remove upstream “box”").click();
  await page.getByText("fast in lane oss: it has no other target").waitFor();
  await page.getByText("safe in lane oss: another target is left").waitFor();
  await page.getByText("This key names it among its models: guest.").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("Take it out of these, too.").uncheck();
  await button(desk, "Show the change").click();
  await page.getByText('lanes.oss.models.fast.targets[0].upstream: Cannot find upstream "box"').waitFor();
  await page.getByLabel("Take it out of these, too.").check();
  await button(desk, "Show the change").click();
  await button(desk, "Write this change").click();
  await page.getByText("Upstream “box” was removed. The gateway uses it now.").waitFor();
  await page.getByRole("rowheader", { name: "box" }).waitFor({ state: "detached" });
  const after = await read(removing);
  assert(!/box|fast": |at home|everybody/.test(after), after);
  assertStringIncludes(after, '{ "upstream": "spare", "model": "qwen3:32b" }');
  assertEquals(complaints, []);
}

/** A model gets targets in their order, becomes the default, and is removed with the keys that name it said. */
const { rig: modelling, app: modelled } = rigged();
async function changeModels(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await openUpstreams(desk);
  await openPage(page, "Models");
  await button(desk, "Add model").click();
  await page.getByLabel("Name", { exact: true }).fill("glm-5.3");
  await page.getByLabel("Model of target 1").fill("qwen3:8b");
  await page.locator('datalist option[value="qwen3:32b"]').waitFor({ state: "attached" });
  await button(desk, "Add a target").click();
  await page.getByLabel("Upstream of target 2").selectOption("spare");
  await button(desk, "Show the change").click();
  await page.getByText("Write how the upstream calls the model.").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("Model of target 2").fill("first");
  await button(desk, "Move target 2 up").click();
  await page.getByLabel("Context window, in tokens").fill("32000");
  await page.getByLabel("Default: it also answers").check();
  await button(desk, "Show the change").click();
  await button(desk, "Write this change").click();
  await page.getByRole("rowheader", { name: "glm-5.3" }).waitFor();
  await page.getByRole("rowheader", { name: "*", exact: true }).waitFor();
  assertEquals(await faultsOf(page), []);
  const targets = [{ upstream: "spare", model: "first" }, { upstream: "box", model: "qwen3:8b" }];
  const file = JSON.parse((await read(modelling)).replace(/\/\/ .*/g, "").replace(/,(\s*[}\]])/g, "$1"));
  assertEquals(file.lanes.oss.models["glm-5.3"], { task: "chat", targets, contextLength: 32_000 });
  assertEquals(file.lanes.oss.models["*"], { task: "chat", targets });
  await page.setViewportSize({ width: 390, height: 844 });
  await button(desk, "Edit model “fast”").click();
  await page.getByLabel("Model of target 1").fill("qwen3:14b");
  assertEquals(await faultsOf(page), []);
  const overflow = "document.querySelector('dialog').scrollWidth - document.querySelector('dialog').clientWidth";
  assertEquals(await page.evaluate(overflow), 0);
  await button(desk, "Show the change").click();
  await button(desk, "Write this change").click();
  await page.getByText("Model “fast” was changed. The gateway uses it now.").waitFor();
  assertStringIncludes(await read(modelling), "// The one that everybody uses");
  await button(desk, "Edit model “fast”").click();
  await button(desk, "Remove …").click();
  await page.getByText("This key names it among its models: guest.").waitFor();
  assertEquals([await faultsOf(page), complaints], [[], []]);
}

/** The second of two tabs learns that the file has changed, before and after it shows its own change. Nothing is lost. */
const { rig: shared, app: sharing } = rigged();
async function twoTabs(desk: Desk): Promise<void> {
  const { page } = desk;
  await openUpstreams(desk);
  const other = await page.context().newPage();
  await other.goto(page.url());
  const limit = async (tab: typeof page, name: string, running: string) => {
    await tab.bringToFront();
    await tab.getByRole("button", { name: `Edit upstream “${name}”` }).click();
    await tab.getByLabel("Base URL").waitFor();
    // They are open already once there is one.
    if (!await tab.getByLabel("Requests at once").isVisible()) await tab.getByText("Limits", { exact: true }).click();
    await tab.getByLabel("Requests at once").fill(running);
  };
  const press = async (tab: typeof page, name: string) => {
    await tab.bringToFront();
    await tab.getByRole("button", { name, exact: true }).click();
  };
  await limit(other, "spare", "7");
  await limit(page, "box", "3");
  for (const name of ["Show the change", "Write this change"]) await press(page, name);
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await press(other, "Show the change");
  await other.getByText("Somebody has changed the file since you opened this form").waitFor();
  await limit(page, "box", "4");
  for (const name of ["Show the change", "Write this change"]) await press(page, name);
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await press(other, "Write this change");
  await other.getByText("Nothing was written, because somebody has changed the file in the meantime").waitFor();
  assertEquals(await faultsOf(other), []);
  await press(other, "Write this change");
  await other.getByText("Upstream “spare” was changed. The gateway uses it now.").waitFor();
  const after = await read(shared);
  for (const running of [4, 7]) assertStringIncludes(after, `"concurrency": { "running": ${running} }`);
}

/** Where only the launcher may write the file, it plans, tests, writes and takes back. */
const { rig: launched, app: launching } = rigged(TEXT.replace('{ "edit": true }', "{}"), true);
async function byLauncher(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  const first = await read(launched);
  await openUpstreams(desk);
  await button(desk, "Add upstream").click();
  await page.getByLabel("Provider").selectOption("groq");
  assertEquals(await page.getByLabel("Name", { exact: true }).inputValue(), "groq");
  await page.getByLabel("Secret", { exact: true }).selectOption("In an environment variable");
  await page.getByLabel("Name of the variable").fill("UPSTREAM_SECRET");
  launched.isUp = false;
  await button(desk, "Test it").click();
  await page.getByText("does not work").waitFor();
  launched.isUp = true;
  await button(desk, "Test it").click();
  await page.getByText("2 models").waitFor();
  await button(desk, "Show the change").click();
  await page.getByText("The gateway uses it at once, without a restart.").waitFor();
  assertEquals([await faultsOf(page), await read(launched)], [[], first]);
  await button(desk, "Write this file").click();
  await page.getByText("Written. The gateway uses it now.").waitFor();
  assertEquals(await page.getByText("How to undo it").count(), 0);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("rowheader", { name: "groq" }).waitFor();
  await button(desk, "Undo this change …").click();
  await button(desk, "Write this file").click();
  await page.getByText("Written. The gateway uses it now.").waitFor();
  assertEquals([await read(launched), complaints], [first, []]);
  // Somebody else changes the file, and so what was taken back cannot be done again.
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  await Deno.writeTextFile(launched.file, first.replace("// Ours", "// Theirs"));
  await button(desk, "Undo this change …").click();
  await page.getByText("Somebody has changed the file since").waitFor();
  assertEquals(await faultsOf(page), []);
}

/** A gateway that dies while a form is open: the form keeps what was entered, and goes on. */
const { rig: dying, app: mortal } = rigged();
async function death(desk: Desk): Promise<void> {
  const { page } = desk;
  await openUpstreams(desk);
  await button(desk, "Edit upstream “spare”").click();
  await page.getByLabel("Base URL").fill("http://other.test/v1");
  await desk.stop();
  await button(desk, "Show the change").click();
  await page.getByRole("dialog").getByText("The gateway is not responding").waitFor();
  desk.start();
  await button(desk, "Show the change").click();
  await button(desk, "Write this change").waitFor();
  await desk.stop();
  await button(desk, "Write this change").click();
  await page.getByRole("dialog").getByText("The gateway is not responding").waitFor();
  assertEquals([await read(dying), await faultsOf(page)], [TEXT, []]);
  desk.start();
  await button(desk, "Write this change").click();
  await page.getByText("Upstream “spare” was changed. The gateway uses it now.").waitFor();
  assertStringIncludes(await read(dying), '"baseUrl": "http://other.test/v1"');
}

const EVIL = `<img src=x onerror="document.title='broken'">`;

/** Where nobody may write the file, the change is there to be copied; names and values are text. */
const { app: fixed } = rigged(
  TEXT.replace('{ "edit": true }', "{}").replace('"headers": { "x-key": "hidden-from-all" }', `"headers": {}`)
    .replaceAll('"spare"', JSON.stringify(EVIL)),
);
async function byHand(desk: Desk): Promise<void> {
  const { page } = desk;
  await openUpstreams(desk);
  await button(desk, `Edit upstream “${EVIL}”`).click();
  await page.getByLabel("Base URL").fill(`${EVIL} `);
  await button(desk, "Show the change").click();
  await page.locator("small.error").waitFor();
  await page.getByLabel("Base URL").fill("http://other.test/v1");
  await button(desk, "Show the change").click();
  await page.getByText("Make this change in the file yourself").waitFor();
  assertStringIncludes(
    await page.getByLabel("The whole file with the change", { exact: true }).innerText(),
    "http://other.test/v1",
  );
  assertEquals([await faultsOf(page), await page.locator("img").count()], [[], 0]);
  assertEquals(await page.title(), "Upstreams · Laneway");
}

export const editCases: Case[] = [
  { name: "an upstream is added by its form, and the change is taken back", app: added, run: add },
  { name: "an upstream is tested, and removed with all that points to it", app: removed, run: remove },
  { name: "a model is added, changed and removed by its form", app: modelled, run: changeModels },
  { name: "of two tabs that change the file, the second one learns of it", app: sharing, run: twoTabs },
  { name: "a form outlives a gateway that dies", app: mortal, run: death },
  { name: "a change is written and taken back by the launcher", app: launching, run: byLauncher },
  { name: "a change that the gateway may not write is there to be copied", app: fixed, run: byHand },
];
