/** The site in a real browser, as files and from a server: people find, read and print it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { BrowserContext, Page } from "playwright-core";
import { browser, faultsOf } from "../console/desk.ts";
import { ROOT } from "../docs/documents.ts";
import { withFolder } from "../support/process.ts";
import { buildSite } from "./build.ts";
import { sitePages } from "./pages.ts";

const reason = browser ? "" : " (skipped: no Chromium on this machine)";

/** Pages of each kind: a diagram, code of several languages, wide tables, folded parts, a page in a folder. */
const LOOKED_AT = ["index", "clients", "configuration", "fidelity", "how_it_works", "decisions/index"];

function background(page: Page): Promise<unknown> {
  return page.evaluate("getComputedStyle(document.body).backgroundColor");
}

/** `at` is the address of a page at a server, `file` that of its file. */
type Step = (page: Page, at: (name: string) => string, file: (name: string) => string) => Promise<void>;

const STEPS: Record<string, Step> = {
  "the search finds a section by its words, and a key opens it, also without a server": async (page, _, file) => {
    await page.goto(file("decisions/index"));
    await page.keyboard.press("/");
    await page.keyboard.type("codex config.toml");
    await page.locator("#found a").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/clients\.html#codex/);
    await page.getByLabel("Search", { exact: true }).fill("xyzzy plugh");
    await page.getByText("Nothing found for “xyzzy plugh”.").waitFor();
    await page.keyboard.press("Escape");
    assertEquals(await page.locator("#found").isVisible(), false);
  },
  "colours follow the system until they are chosen, and the choice lasts": async (page, at) => {
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(at("index"));
    const light = await background(page);
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await background(page);
    assertEquals(light === dark, false);
    await page.getByRole("button", { name: "Colours: system" }).click();
    assertEquals(await background(page), light);
    await page.goto(at("clients"));
    assertEquals(await background(page), light);
    await page.getByRole("button", { name: "Colours: light" }).click();
    await page.emulateMedia({ colorScheme: "light" });
    assertEquals(await background(page), dark);
    await page.getByRole("button", { name: "Colours: dark" }).click();
    assertEquals(await background(page), light);
  },
  "pages pass axe, light and dark": async (page, at) => {
    for (const name of LOOKED_AT) {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.goto(at(name));
        assertEquals(await faultsOf(page), [], `${name}, ${colorScheme}`);
      }
    }
  },
  "every page fits a phone, whose menu opens": async (page, at) => {
    await page.setViewportSize({ width: 360, height: 640 });
    for (const { name } of sitePages()) {
      await page.goto(at(name));
      const over = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assertEquals(over, 0, `${name} is wider than the phone`);
    }
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Clients", exact: true }).click();
    await page.waitForURL(/clients\.html$/);
  },
  "the recording shows one scene after the other, and the lines of each in their turn": async (page) => {
    await page.goto(new URL("docs/images/first-start.svg", ROOT).href);
    const at = (part: number) =>
      page.evaluate(`(() => {
        for (const one of document.getAnimations()) {
          one.pause();
          one.currentTime = ${part} * one.effect.getTiming().duration;
        }
        return [...document.querySelectorAll(".s")].map((scene) => [
          getComputedStyle(scene).opacity,
          [...scene.querySelectorAll(".r")].filter((row) => getComputedStyle(row).visibility === "visible").length,
        ]);
      })()`) as Promise<[opacity: string, rows: number][]>;
    const [start, middle, end] = [await at(0.03), await at(0.5), await at(0.99)];
    assertEquals([start, middle, end].map((scenes) => scenes.filter(([opacity]) => opacity === "1").length), [1, 1, 1]);
    assertEquals([start[0]![0], end.at(-1)![0]], ["1", "1"]);
    assertEquals([start[0]![1] < 3, end.at(-1)![1] > 10], [true, true]);
  },
  "print has the text without the navigation": async (page, at) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.goto(at("clients"));
    assertEquals(await page.locator("#pages, header").filter({ visible: true }).count(), 0);
    assertEquals(await background(page), "rgb(255, 255, 255)");
    await page.getByRole("heading", { name: "Codex" }).first().waitFor();
  },
};

async function withPage(context: BrowserContext, use: (page: Page) => Promise<void>): Promise<void> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!/^(file:|data:|http:\/\/127\.0\.0\.1:)/.test(request.url())) complaints.push(request.url());
  });
  await use(page);
  assertEquals(complaints, []);
}

const TYPES: Record<string, string> = {
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  md: "text/markdown",
};

function serve(folder: string): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url }) => {
    const path = new URL(url).pathname;
    const type = TYPES[path.split(".").at(-1)!] ?? "application/octet-stream";
    return new Response(await Deno.readFile(folder + path), { headers: { "content-type": `${type}; charset=utf-8` } });
  });
}

Deno.test({
  name: `site: in a browser${reason}`,
  ignore: !browser,
  // The driver of the browser keeps what it opened until the process ends.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: (test) =>
    withFolder(async (folder) => {
      const { chromium } = await import("playwright-core");
      await buildSite({ out: folder });
      assertStringIncludes(await Deno.readTextFile(`${folder}/index.html`), "<title>Laneway</title>");
      const server = serve(folder);
      const at = (page: string) => `http://127.0.0.1:${server.addr.port}/${page}.html`;
      const file = (page: string) => `file://${folder}/${page}.html`;
      const opened = await chromium.launch({ executablePath: browser, headless: true });
      try {
        for (const [name, step] of Object.entries(STEPS)) {
          const context = await opened.newContext();
          const fn = () => withPage(context, (page) => step(page, at, file));
          await test.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
          await context.close();
        }
      } finally {
        await opened.close();
        await server.shutdown();
      }
    }),
});
