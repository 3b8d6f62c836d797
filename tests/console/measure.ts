/**
 * Measures the console in Chromium over loopback: how soon it paints, and how evenly it draws 5,000 requests while 20 more arrive each
 * second. Its figures are in docs/console.md.
 */
import type { Browser, Page } from "playwright-core";
import { CHAT, CONFIG, newApp } from "../support/app.ts";
import { browser, lastingStore, logIn, OPS, withDesk } from "./desk.ts";

const [VISITS, KEPT, PER_SECOND, SECONDS] = [9, 5_000, 20, 8];
/** Pixels a second. */
const SPEED = 2_400;

const kept = lastingStore();
const app = () =>
  newApp({
    config: { ...CONFIG, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] },
    store: kept,
    now: Date.now,
  });

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

function median(values: number[]): number {
  return values.sort((one, other) => one - other)[Math.floor(values.length / 2)]!;
}

const PAINT = `new Promise((resolve) => new PerformanceObserver((list) => {
  for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") resolve(startTime);
}).observe({ type: "paint", buffered: true }))`;
const READY = "performance.now()";

/** The first paint of each page, and when its heading is there: with an empty cache, and at the next visit. */
async function paints(opened: Browser): Promise<void> {
  await withDesk(opened, app, async ({ url }) => {
    for (const visit of ["empty cache", "next visit"]) {
      const [painted, ready]: [number[], number[]] = [[], []];
      for (let times = 0; times < VISITS; times++) {
        const context = await opened.newContext();
        await context.request.post(`${url}/console/login`, { data: OPS, headers: { origin: url } });
        const page = await context.newPage();
        if (visit === "next visit") {
          await page.goto(`${url}/console/`);
          await page.getByRole("heading", { name: "Live" }).waitFor();
        }
        await page.goto(`${url}/console/`);
        painted.push(await page.evaluate<number>(PAINT));
        await page.getByRole("heading", { name: "Live" }).waitFor();
        ready.push(await page.evaluate<number>(READY));
        await context.close();
      }
      say(`${visit}: first paint ${Math.round(median(painted))} ms, page ${Math.round(median(ready))} ms`);
    }
  });
}

function entryAt(number: number, time: number): object {
  return {
    number,
    id: `req_${number}`,
    time: new Date(time).toISOString(),
    path: CHAT,
    model: `model-${number % 7}`,
    target: `fake/org/model-${number % 7}`,
    client: "agent/1.0",
    key: "ops",
    status: number % 40 === 0 ? 503 : 200,
    error: number % 40 === 0 ? "unavailable" : undefined,
    firstEventMs: number % 300,
    durationMs: number % 900,
    usage: { inputTokens: number % 9_000, outputTokens: number % 500, cachedInputTokens: number % 4_000 },
    cost: "0.0012",
    notes: number % 9 === 0 ? ["dropped top_k"] : undefined,
  };
}

/** The lengths of the frames, in milliseconds. */
const FRAMES = `new Promise((resolve) => {
  const lengths = [];
  const end = performance.now() + ${SECONDS * 1_000};
  let last = performance.now();
  const frame = (now) => {
    lengths.push(now - last);
    last = now;
    if (now < end) requestAnimationFrame(frame);
    else resolve(lengths);
  };
  requestAnimationFrame(frame);
})`;

/** Scrolls the list down as a finger does. */
async function scroll(page: Page): Promise<void> {
  const { x, y, width, height } = (await page.getByRole("region", { name: "Requests" }).boundingBox())!;
  const session = await page.context().newCDPSession(page);
  const middle = { x: x + width / 2, y: y + Math.min(height / 2, 300) };
  await session.send("Input.synthesizeScrollGesture", {
    ...middle,
    yDistance: -SPEED * SECONDS,
    speed: SPEED,
    gestureSourceType: "mouse",
  });
}

async function framesOf(page: Page, what: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.setTimeDomain", { timeDomain: "threadTicks" });
  await session.send("Performance.enable");
  /** The processor's time that the page has taken, in seconds. It says how much room is left where other programs take the processor. */
  const worked = async () =>
    (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")!.value;
  const before = await worked();
  const lengths = await page.evaluate<number[]>(FRAMES);
  const busy = (await worked() - before) / SECONDS * 100;
  await session.detach();
  const sum = lengths.reduce((all, length) => all + length, 0);
  const late = lengths.filter((length) => length > 25);
  const rate = (lengths.length / sum * 1_000).toFixed(1);
  say(
    `${what}: ${rate} frames a second, ${late.length} of ${lengths.length} late, the longest ${
      Math.round(Math.max(...lengths))
    } ms; the page takes ${Math.round(busy)} % of a processor`,
  );
}

async function frames(opened: Browser): Promise<void> {
  await withDesk(opened, app, async (desk) => {
    const { page } = desk;
    await page.setViewportSize({ width: 1440, height: 900 });
    await logIn(desk);
    const began = Date.now();
    const numberAt = (time: number) => KEPT + Math.floor((time - began) / 1_000 * PER_SECOND);
    await page.route(/api\/live/, (route) => {
      const params = new URL(route.request().url()).searchParams;
      const since = params.get("feed") === "busy" ? Number(params.get("since")) : 0;
      const [now, next] = [Date.now(), numberAt(Date.now())];
      const first = Math.max(since, next - KEPT);
      const ended = Array.from(
        { length: next - first },
        (_, index) => entryAt(first + index, began + (first + index - KEPT) / PER_SECOND * 1_000),
      );
      return route.fulfill({ json: { now, feed: "busy", next, running: [], ended } });
    });
    await page.getByText("Requests, latest first: 5,000").waitFor();
    await framesOf(page, "at rest");
    await page.evaluate("document.querySelector('.rows').scrollIntoView({ block: 'end' })");
    const scrolled = scroll(page);
    await framesOf(page, "scrolled");
    await scrolled;
    await page.getByLabel("Filter").fill("model-3");
    await framesOf(page, "filtered");
  });
}

if (!browser) throw new Error("There is no Chromium on this machine");
const { chromium } = await import("playwright-core");
const opened = await chromium.launch({ executablePath: browser, headless: true });
try {
  await paints(opened);
  await frames(opened);
} finally {
  await opened.close();
}
Deno.exit(0);
