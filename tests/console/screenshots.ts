/** Writes the pictures of docs/console.md: the console in a real browser, before a gateway that has served for five minutes. */
import type { Browser, Page } from "playwright-core";
import type { JsonObject } from "../../src/canonical/json.ts";
import { pluginFacts } from "../../src/app.ts";
import { createConfigDesk } from "../../src/cli/config_desk.ts";
import { loadConfig } from "../../src/config/load.ts";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { answerStream, frame } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { browser, lastingStore, logIn, OPS, withDesk } from "./desk.ts";
import { CODES, setupRig } from "./setup_rig.ts";

const IMAGES = new URL("../../docs/images/", import.meta.url);
const WIDE = { width: 1100, height: 640 };
const PHONE = { width: 390, height: 700 };

const price = { input: 0.6, output: 2.2 };
const SHOWN: ConfigInput = {
  ...CONFIG,
  upstreams: {
    ...CONFIG.upstreams,
    second: { driver: "chat", baseUrl: "http://second.test/v1", secret: { env: "UPSTREAM_SECRET" } },
  },
  lanes: {
    oss: {
      models: {
        "glm-5.3": { task: "chat", price, targets: [{ upstream: "fake", model: "zai-org/GLM-5.3" }] },
        "kimi-k3": { task: "chat", price, targets: [{ upstream: "second", model: "moonshotai/Kimi-K3" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
  },
  usage: {},
  storedKeys: true,
  store: { kind: "kv", path: "kept/in/memory/by/this/task" },
  console: { record: {}, edit: true },
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "anna", secret: { env: "GUEST_KEY" }, budget: { dollars: 5, period: "month", unpriced: "allow" } },
  ],
};
/** What the page of the configuration shows. */
const FILE = `{
  "console": { "edit": true },
  "keys": [
    { "name": "ops", "secret": { "env": "TEAM_KEY" }, "operator": true },
    { "name": "anna", "secret": { "env": "GUEST_KEY" }, "lanes": ["oss"] }
  ],
  "retry": { "rounds": 2 },
  "upstreams": {
    "vllm": {
      "driver": "chat",
      "baseUrl": "http://vllm:8000/v1",
      "headers": { "x-api-key": "kept in the file" }
    }
  },
  "lanes": {
    "oss": { "upstreams": { "chat": "vllm" } }
  }
}
`;
const CLIENTS = ["claude-cli/2.3.1", "codex_cli_rs/0.90.0", "opencode/1.4.0", "OpenAI/Python 2.8.0"];
const PATHS = ["/oss/v1/messages", "/oss/v1/chat/completions", "/oss/v1/responses"];

/** The same numbers each time. */
function* numbers(): Generator<number, never> {
  for (let seed = 7;;) yield (seed = seed * 48_271 % 2_147_483_647) / 2_147_483_647;
}

function fileDesk() {
  const platform = { env: (name: string) => ENV[name], os: "linux" as const, isGranted: () => true };
  const load = (_: unknown, readText: (path: string) => string = () => FILE) =>
    loadConfig({ path: "gateway.json", ...pluginFacts(), env: platform.env, readText });
  const { config } = load(undefined);
  const desk = createConfigDesk({
    file: "gateway.json",
    source: '"gateway.json"',
    load,
    platform,
    running: { app: () => ({}), config: () => config, reload() {} },
  });
  return { ...desk, read: () => ({ source: '"gateway.json"', text: FILE, version: "1" }) };
}

/** An app whose clock moves with what it serves, up to now. */
function served(): { app: TestApp; fill(): Promise<void> } {
  const random = numbers();
  const next = () => random.next().value;
  let now = Date.now();
  let isReal = true;
  const upstream = fakeUpstream(({ body }) => {
    const { model } = JSON.parse(body) as JsonObject;
    if (!isReal) now += 300 + next() * 900;
    if (!isReal && next() < 0.04) return Response.json({ error: { message: "Busy" } }, { status: 503 });
    const text = "A lane is a path prefix with its own models: clients of any wire ask for them by name.";
    const output = Math.round(40 + next() * 400);
    const usage = { prompt_tokens: Math.round(500 + next() * 9000), completion_tokens: output, total_tokens: 0 };
    return answerStream([
      frame({ delta: { role: "assistant", reasoning_content: `${model} is asked what a lane is.` } }),
      frame({ delta: { content: text } }),
      frame({ delta: {}, finish_reason: "stop" }),
      `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
      "data: [DONE]\n\n",
    ]);
  });
  const app = newApp({
    config: SHOWN,
    store: lastingStore(),
    now: () => isReal ? Date.now() : now,
    fetch: upstream.fetch,
    configuration: () => Promise.resolve(fileDesk()),
  });
  const fill = async () => {
    isReal = false;
    const end = Date.now();
    for (now = end - 290_000; now < end - 1_500; now += next() * 900) {
      const path = PATHS[Math.floor(next() * 3)]!;
      const model = next() < 0.7 ? "glm-5.3" : "kimi-k3";
      const messages = [{ role: "user", content: "What is a lane?" }];
      const more = path === PATHS[2] ? { input: messages, store: false } : { messages, max_tokens: 900 };
      const headers = {
        "x-api-key": next() < 0.5 ? OPS : ENV.GUEST_KEY!,
        "user-agent": CLIENTS[Math.floor(next() * CLIENTS.length)]!,
      };
      const body = { model, stream: true, ...more, ...next() < 0.3 && { top_k: 40 } };
      await (await app.post(path, body, headers)).text();
    }
    isReal = true;
  };
  return { app, fill };
}

async function openPage(page: Page, name: string, seen = "tbody tr"): Promise<void> {
  await page.getByRole("link", { name, exact: true }).click();
  await page.locator(seen).first().waitFor({ state: "attached" });
}

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: new URL(`${name}.png`, IMAGES).pathname, animations: "disabled", caret: "hide" });
}

async function play(page: Page): Promise<void> {
  await openPage(page, "Playground", "datalist option");
  await page.getByLabel("Prompt", { exact: true }).fill("What is a lane?");
  await page.getByLabel("Model 1", { exact: true }).fill("oss/glm-5.3");
  await page.getByLabel("Model 2", { exact: true }).fill("oss/kimi-k3");
  await page.getByLabel("Model 2 API").selectOption("responses");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Done").nth(1).waitFor();
}

async function edit(page: Page): Promise<void> {
  await openPage(page, "Configuration", "textarea");
  const editor = page.getByLabel("The file, without secrets");
  while (!(await editor.inputValue()).includes("vllm")) await page.waitForTimeout(20);
  const text = (await editor.inputValue()).replace('"rounds": 2', '"rounds": 4');
  await editor.fill(text);
  const cursor = text.indexOf('"rounds"');
  await page.evaluate(`{
    const editor = document.querySelector("textarea");
    editor.focus();
    editor.setSelectionRange(${cursor}, ${cursor});
    editor.dispatchEvent(new Event("click"));
  }`);
  await page.locator(".suggestions button").first().waitFor();
  await page.getByText("It changes retry.rounds").waitFor();
}

async function takeAll(opened: Browser): Promise<void> {
  const { app, fill } = served();
  await withDesk(opened, () => app, async (desk) => {
    const { page } = desk;
    await page.setViewportSize(WIDE);
    await fill();
    await logIn(desk);
    await page.getByRole("cell", { name: "200" }).first().waitFor();
    await take(page, "console-live");
    await page.emulateMedia({ colorScheme: "dark" });
    await take(page, "console-live-dark");
    await page.setViewportSize(PHONE);
    await take(page, "console-live-phone");
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(WIDE);
    for (const name of ["Upstreams", "Usage", "Keys"]) {
      await openPage(page, name);
      await take(page, `console-${name.toLowerCase()}`);
    }
    await edit(page);
    await page.setViewportSize({ ...WIDE, height: 1120 });
    await take(page, "console-configuration");
    await page.setViewportSize(WIDE);
    await openPage(page, "Inspect");
    await page.getByRole("link", { name: /^Request at/ }).first().click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await take(page, "console-inspect");
    await play(page);
    await take(page, "console-playground");
    await openPage(page, "Fidelity");
    await take(page, "console-fidelity");
  });
}

/** The guide, in the order of its steps. */
async function takeGuide(opened: Browser): Promise<void> {
  await withDesk(opened, () => setupRig({ needsCode: true }).app, async ({ page, url }) => {
    await page.setViewportSize(WIDE);
    await page.goto(`${url}/console/#setup?code=${CODES[0]}`);
    const add = page.getByRole("button", { name: "Add Ollama 0.14" });
    await add.click();
    await page.getByText("Ollama 0.14 answers").waitFor();
    await page.setViewportSize({ ...WIDE, height: 920 });
    await take(page, "console-setup-upstream");
    await page.setViewportSize(WIDE);
    await page.getByRole("link", { name: "Choose models" }).click();
    await page.getByLabel("Name of qwen3:8b").waitFor();
    await page.getByRole("link", { name: "Review the files" }).click();
    await page.getByRole("button", { name: "Write this file" }).waitFor();
    await page.setViewportSize({ ...WIDE, height: 760 });
    await take(page, "console-setup-files");
    await page.setViewportSize(WIDE);
    await page.getByRole("button", { name: "Write this file" }).click();
    await page.getByRole("link", { name: "Connect a client" }).click();
    await page.getByRole("button", { name: "Connect: Claude Code" }).click();
    await page.getByText("Claude Code works with this gateway.").waitFor();
    await take(page, "console-setup-client");
  });
}

if (!browser) throw new Error("There is no Chromium on this machine");
const { chromium } = await import("playwright-core");
const opened = await chromium.launch({ executablePath: browser, headless: true });
try {
  await takeAll(opened);
  await takeGuide(opened);
} finally {
  await opened.close();
}
