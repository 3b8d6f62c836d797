/** The console in a real browser. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { browser, type Case, type Desk, faultsOf, lastingStore, logIn, OPS, withDesk } from "./desk.ts";
import { agentCases } from "./agents_in_browser.ts";
import { configurationCases } from "./configuration_in_browser.ts";
import { editCases } from "./edits_in_browser.ts";
import { inspectCases } from "./inspect_in_browser.ts";
import { designCases } from "./design_in_browser.ts";
import { frameCases } from "./frame_in_browser.ts";
import { fidelityCases } from "./fidelity_in_browser.ts";
import { healthCases } from "./health_in_browser.ts";
import { keyCases } from "./keys_in_browser.ts";
import { liveCases } from "./live_in_browser.ts";
import { listCases } from "./list_in_browser.ts";
import { pageCases } from "./pages_in_browser.ts";
import { photoCases } from "./photos_in_browser.ts";
import { playgroundCases } from "./playground_in_browser.ts";
import { setupCases } from "./setup_in_browser.ts";
import { sessionCases } from "./session_in_browser.ts";
import { usageCases } from "./usage_in_browser.ts";
import { upstreamCases } from "./upstreams_in_browser.ts";

const reason = browser ? "" : " (skipped: no Chromium on this machine)";

const AT_ONCE = 4;
/** Names that tests call the gateway by. */
const NAMES = ["--host-resolver-rules=MAP gateway.test 127.0.0.1"];

const EVIL = `<img src=x onerror="document.title='broken'">`;
const KEYED: ConfigInput = {
  ...CONFIG,
  usage: {},
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
};

const cases: Case[] = [
  ...photoCases,
  ...pageCases,
  ...agentCases,
  ...designCases,
  ...frameCases,
  ...fidelityCases,
  ...configurationCases,
  ...healthCases,
  ...editCases,
  ...keyCases,
  ...liveCases,
  ...listCases,
  ...playgroundCases,
  ...inspectCases,
  ...sessionCases,
  ...setupCases,
  ...upstreamCases,
  ...usageCases,
];

function inBrowser(name: string, app: () => TestApp, run: (desk: Desk) => Promise<void>): void {
  cases.push({ name, app, run });
}

Deno.test({
  name: `console: in a browser${reason}`,
  ignore: !browser,
  // The driver of the browser keeps what it opened until the process ends.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    const { chromium } = await import("playwright-core");
    const opened = await chromium.launch({ executablePath: browser, headless: true, args: NAMES });
    try {
      // A few side by side, because most of what they do is to wait for the page to ask again; more would wait for the browser.
      const apart = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };
      const waiting = cases.values();
      const next = async () => {
        for (const { name, app, run } of waiting) {
          await t.step({ name, fn: () => withDesk(opened, app, run), ...apart });
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, next));
    } finally {
      await opened.close();
    }
  },
});

const ask = async (desk: Desk, headers: Record<string, string> = {}, more: object = {}) =>
  await (await desk.app.post(CHAT, chatBody(more), { "x-api-key": OPS, ...headers })).text();

const kept = lastingStore();

const answering = () =>
  newApp({ config: KEYED, store: kept, now: Date.now, fetch: () => Promise.resolve(answerWhole()) });

inBrowser(
  "a request appears while it runs, ends, is found by the filter, and shows its details",
  () => newApp({ config: KEYED, now: Date.now, fetch: () => held.promise }),
  async (desk) => {
    const { page, complaints } = desk;
    await logIn(desk);
    complaints.length = 0; // that nobody was logged in at first
    const running = ask(desk, { "user-agent": "agent/1.0" });
    await page.getByRole("cell", { name: "running" }).waitFor();
    held.resolve(answerWhole());
    await running;
    await page.getByRole("cell", { name: "200" }).waitFor();
    await page.getByLabel("Filter").fill("no-such-thing");
    await page.getByText("Requests, latest first: 0").waitFor();
    await page.getByLabel("Filter").fill("agent 200");
    await page.getByText("Requests, latest first: 1").waitFor();
    assertStringIncludes(page.url(), "#live?agent%20200");
    await page.getByRole("button", { name: /details$/ }).press("Enter");
    await page.getByRole("dialog").getByText("agent/1.0").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    assertEquals(complaints, []);
  },
);
const held = Promise.withResolvers<Response>();

inBrowser("whatever a client names is text, and no secret is in the page", answering, async (desk) => {
  const { page } = desk;
  await logIn(desk);
  await ask(desk, { "user-agent": EVIL.replaceAll('"', "'") }, { model: EVIL });
  await page.getByRole("cell", { name: "404 model_not_found" }).waitFor();
  await page.getByRole("button", { name: /details$/ }).click();
  assertEquals(await page.locator("img").count(), 0);
  assertEquals(await page.title(), "Live · Laneway");
  const text = await page.content();
  assertStringIncludes(text, "&lt;img");
  assert(!text.includes(OPS));
});

inBrowser("the page for logging in passes axe", answering, async ({ page, url }) => {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${url}/console`);
    await page.getByLabel("Operator key").waitFor();
    assertEquals(await faultsOf(page), []);
  }
});

inBrowser(
  "a gateway that dies and returns: the page says so, and goes on",
  answering,
  async (desk) => {
    const { page } = desk;
    await logIn(desk);
    await ask(desk);
    await page.getByText("Requests, latest first: 1").waitFor();
    await desk.stop();
    await page.getByText("The gateway is not responding").waitFor();
    await page.getByRole("link", { name: "Clients" }).click();
    await page.getByText("goes on as soon as the gateway answers").waitFor();
    await page.getByRole("link", { name: "Live" }).click();
    desk.start();
    // As many as the page has seen already: they are others all the same.
    await ask(desk);
    await page.getByText("Requests, latest first: 2").waitFor();
    await ask(desk);
    await page.getByText("Requests, latest first: 3").waitFor();
    assertEquals(await page.getByRole("status").textContent(), "");
  },
);

inBrowser(
  "a gateway that never answers: the page says so, and asks again",
  answering,
  async (desk) => {
    const { page } = desk;
    await logIn(desk);
    await page.getByText("No request has arrived since the gateway started.").waitFor();
    await page.route(/api\/live/, () => {}, { times: 1 });
    await page.getByText("The gateway is not responding").waitFor();
    await ask(desk);
    await page.getByText("Requests, latest first: 1").waitFor();
    assertEquals(await page.getByRole("status").textContent(), "");
  },
);

const failing = { ...lastingStore(), delete: () => Promise.reject(new Error("The server is gone")) };

inBrowser(
  "a login and a logout that cannot be done say so, and can be tried again",
  () => newApp({ config: KEYED, store: failing, now: Date.now }),
  async (desk) => {
    const { page, complaints } = desk;
    await page.goto(`${desk.url}/console`);
    await page.getByText("These pages are for operators of this gateway. The command deno task -q laneway keys create")
      .waitFor();
    await page.getByLabel("Operator key").fill(OPS);
    await desk.stop();
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").getByText("The gateway is not responding").waitFor();
    desk.start();
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Live" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    for (let times = 0; times < 3; times++) await page.waitForResponse(/api\/live/);
    assertEquals(await page.locator("#state").textContent(), "The session could not be ended: try again");
    await page.getByRole("button", { name: "Log out" }).click();
    assertEquals(complaints.filter((one) => one.includes("fetch")), [], "Nothing was left uncaught");
  },
);

inBrowser("a paused list stands still, and goes on where it is", answering, async (desk) => {
  const { page } = desk;
  await logIn(desk);
  await ask(desk);
  await page.getByText("Requests, latest first: 1").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await ask(desk);
  await page.waitForResponse(/api\/live/);
  await page.waitForResponse(/api\/live/);
  assertEquals(await page.locator("tbody tr").count(), 1);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Requests, latest first: 2").waitFor();
});
