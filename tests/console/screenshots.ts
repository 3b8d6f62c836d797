/** Writes the pictures of docs/console.md: the console in a real browser, before a gateway that has served for five minutes. */
import type { Browser, Page } from "playwright-core";
import { browser, logIn, withDesk } from "./desk.ts";
import { served } from "./served.ts";
import { CODES, setupRig } from "./setup_rig.ts";

const IMAGES = new URL("../../docs/images/", import.meta.url);
const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

async function openPage(page: Page, name: string, seen = "tbody tr"): Promise<void> {
  await page.getByRole("link", { name, exact: true }).click();
  await page.locator(seen).first().waitFor({ state: "attached" });
}

async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: new URL(`${name}.png`, IMAGES).pathname, animations: "disabled", caret: "hide" });
}

async function play(page: Page): Promise<void> {
  await openPage(page, "Playground", "datalist option");
  await page.getByLabel("System prompt").fill("Answer in a few sentences.");
  await page.getByLabel("Model 1", { exact: true }).fill("oss/glm-5.3");
  await page.getByRole("button", { name: "Compare with another model" }).click();
  await page.getByLabel("Model 2", { exact: true }).fill("oss/kimi-k3");
  await page.getByLabel("API of model 2").selectOption("responses");
  await page.getByLabel("Message", { exact: true }).fill("What is a lane?");
  await page.getByRole("button", { name: "Send", exact: true }).click();
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
    const drawn = async () => {
      await page.getByRole("cell", { name: "200" }).first().waitFor();
      await page.locator(".chart canvas").nth(2).waitFor();
    };
    await drawn();
    await take(page, "console-live");
    await page.emulateMedia({ colorScheme: "dark" });
    await take(page, "console-live-dark");
    await page.setViewportSize(PHONE);
    await page.reload();
    await drawn();
    await take(page, "console-live-phone");
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(WIDE);
    for (const name of ["Upstreams", "Models", "Keys and teams"]) {
      await openPage(page, name, "tbody tr");
      await take(page, `console-${name.toLowerCase().replace(" and teams", "")}`);
    }
    await openPage(page, "Usage", ".chart canvas");
    await page.getByRole("button", { name: "7 days" }).click();
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByLabel("Show").selectOption("dollars");
    await page.getByText("the time before").first().waitFor();
    await take(page, "console-usage");
    await openPage(page, "Sessions");
    await page.getByRole("link", { name: /^Session of/ }).first().click();
    await page.locator(".turn .markdown").first().waitFor();
    await take(page, "console-session");
    await edit(page);
    await page.setViewportSize({ ...WIDE, height: 1120 });
    await take(page, "console-configuration");
    await page.setViewportSize(WIDE);
    await openPage(page, "Inspect");
    await page.getByRole("link", { name: /^Request at/ }).first().click();
    await page.locator(".ending").waitFor();
    await page.setViewportSize({ ...WIDE, height: 1180 });
    await take(page, "console-inspect");
    await page.setViewportSize(WIDE);
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
