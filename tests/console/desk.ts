/** A gateway with a browser before it, for the tests of the console. */
import axe from "axe-core";
import { existsSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { ENV, type TestApp } from "../support/app.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const browser = BROWSERS.find((path) => existsSync(path));

/** The operator's key. */
export const OPS = ENV.TEAM_KEY!;

/** How long a page may take on a machine that is busy with other tests, in milliseconds. */
const PATIENCE_MS = 180_000;

/** What outlives a gateway that stops, as a file or a server does. */
export function lastingStore(): Store {
  return { ...createMemoryStore({ now: Date.now, limitBytes: 2 ** 20 }), close() {} };
}

export interface Desk {
  page: Page;
  /** What the browser complained about. */
  complaints: string[];
  app: TestApp;
  url: string;
  /** Stops the gateway, and starts it anew at the same address. */
  stop(): Promise<void>;
  start(): void;
}

export async function withDesk(opened: Browser, app: () => TestApp, use: (desk: Desk) => Promise<void>): Promise<void> {
  let gateway = app();
  const serve = (port: number) =>
    Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, (request, info) => gateway.fetch(request, info));
  let server = serve(0);
  const { port } = server.addr;
  const context = await opened.newContext();
  try {
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await use({
      page,
      complaints,
      get app() {
        return gateway;
      },
      url: `http://127.0.0.1:${port}`,
      stop: () => server.shutdown(),
      start() {
        gateway = app();
        server = serve(port);
      },
    });
  } finally {
    await context.close();
    await server.shutdown();
  }
}

export async function logIn({ page, url }: Desk): Promise<void> {
  await page.goto(`${url}/console`);
  await page.getByLabel("Operator key").fill(OPS);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Live" }).waitFor();
}

/** Opens a page as its reader does: by the sidebar, which is a drawer on a phone. */
export async function openPage(page: Page, name: string): Promise<void> {
  const menu = page.getByRole("button", { name: "Open the menu" });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole("link", { name, exact: true }).click();
}

/** What axe finds wrong on the page as it is. */
export async function faultsOf(page: Page): Promise<string[]> {
  // As a debugger, because the page itself lets no script run but its own.
  const session = await page.context().newCDPSession(page);
  // A dialog that is still fading in has no contrast yet; its animation begins with the next frame. A spinner never ends.
  await page.evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
    .then(() => Promise.all(document.getAnimations()
      .filter(({ effect }) => effect.getComputedTiming().endTime < Infinity).map(({ finished }) => finished)))`);
  await session.send("Runtime.evaluate", { expression: axe.source });
  const { result } = await session.send("Runtime.evaluate", {
    expression:
      "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))",
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value;
}

/** What is to be seen in the browser, which all tests share: it takes seconds to start. */
export interface Case {
  name: string;
  app: () => TestApp;
  run(desk: Desk): Promise<void>;
}
