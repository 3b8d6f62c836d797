/** `GET /docs`: the description of the API as a page for people. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseHTML } from "linkedom";
import { existsSync } from "node:fs";
import { z } from "zod";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import { protocols } from "../../plugins/mod.ts";
import { CONFIG, newApp } from "../support/app.ts";
import { operationsOf, readOpenapi } from "../support/openapi.ts";

/** Of a document what is asked here. */
interface Elements {
  querySelectorAll(
    selector: string,
  ): ArrayLike<{ id: string; textContent: string; getAttribute(name: string): string }>;
  querySelector(selector: string): { textContent: string };
  getElementById(id: string): unknown;
}

function read(html: string): Elements {
  return (parseHTML(html) as unknown as { document: Elements }).document;
}

const page = await newApp().get("/docs");
const html = await page.text();
const document = read(html);

Deno.test("docs: the page is open to everybody, and lets nothing run or load", async () => {
  assertEquals([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
  const policy = page.headers.get("content-security-policy")!;
  assertStringIncludes(policy, "default-src 'none'");
  assert(!policy.includes("unsafe") && !policy.includes("script-src"));
  assertEquals(document.querySelectorAll("script, [style], img, iframe, link").length, 0);
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
  const behindKeys = await newApp({ config: { ...CONFIG, keys } }).get("/docs");
  assertEquals([behindKeys.status, await behindKeys.text()], [200, html]);
});

Deno.test("docs: every endpoint has a place on the page, and every link leads to one", async () => {
  const headings = Array.from(document.querySelectorAll("h3"), ({ textContent }) => textContent);
  for (const { place } of operationsOf(await readOpenapi())) assert(headings.includes(place), place);
  const links = Array.from(document.querySelectorAll("a"), (link) => link.getAttribute("href")!);
  assert(links.length > 100);
  for (const link of links.filter((one) => one.startsWith("#"))) assert(document.getElementById(link.slice(1)), link);
  assertEquals(new Set(links.filter((one) => !one.startsWith("#"))), new Set(["/openapi.json"]));
  const ids = Array.from(document.querySelectorAll("[id]"), ({ id }) => id);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("docs: what a plugin says of itself is text, whatever it looks like", async () => {
  const evil = '<img src=x onerror="alert(1)">"\'&';
  const own: Protocol<"ping"> = {
    name: "own",
    wire: `own ${evil}`,
    operation: "ping",
    method: "GET",
    pattern: new PathPattern("/:lane/own"),
    body: "none",
    parse: () => ({}),
    describe: () => ({
      summary: evil,
      description: `${evil} \`${evil}\` **${evil}**`,
      when: evil,
      parameters: { [evil]: { in: "query", description: evil, schema: z.enum([evil]) } },
      answer: { [evil]: z.object({ [evil]: z.literal(evil).meta({ description: evil }) }) },
    }),
    serialize: () => Response.json({}),
    serializeError: ({ code, status }) => Response.json({ [evil]: code }, { status }),
  };
  const response = await newApp({ plugins: { protocols: [own, ...protocols] } }).get("/docs");
  const document = read(await response.text());
  assertEquals(response.status, 200);
  assertEquals(document.querySelectorAll("img").length, 0);
  assertEquals(document.querySelectorAll("[onerror]").length, 0);
  assertStringIncludes(document.querySelector("main")!.textContent!, evil);
});

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const browser = BROWSERS.find((path) => existsSync(path));
const reason = browser ? "" : " (skipped: no Chromium on this machine)";

Deno.test({
  name: `docs: a browser shows the page, asks nobody else, and folds schemas out without a script${reason}`,
  ignore: !browser,
  // The driver of the browser keeps what it opened until the process ends.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { chromium } = await import("playwright-core");
    const app = newApp();
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => app.fetch(request));
    const opened = await chromium.launch({ executablePath: browser, headless: true });
    try {
      const shown = await opened.newPage({ javaScriptEnabled: false });
      const complaints: string[] = [];
      const asked: string[] = [];
      shown.on("console", (message) => complaints.push(message.text()));
      shown.on("request", (request) => asked.push(new URL(request.url()).pathname));
      const base = `http://127.0.0.1:${server.addr.port}`;
      await shown.goto(`${base}/docs`);
      assertStringIncludes(await shown.title(), "Laneway");
      await shown.getByRole("navigation").getByRole("link", { name: "POST /{lane}/v1/chat/completions" }).click();
      assertStringIncludes(shown.url(), "#operation-chat");
      await shown.getByRole("link", { name: "ChatRequest", exact: true }).first().click();
      const messages = shown.locator("h3#schema-ChatRequest + span + ul > li", { hasText: "messages required" })
        .first();
      const inside = messages.locator(":scope > details > ul").first();
      assertEquals(await inside.isVisible(), false);
      await messages.locator(":scope > details > summary").first().click();
      assertEquals(await inside.isVisible(), true);
      assertEquals([complaints, asked], [[], ["/docs"]]);
    } finally {
      await opened.close();
      await server.shutdown();
    }
  },
});
