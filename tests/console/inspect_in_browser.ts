/** Inspect in a real browser: a recorded request on its way, there and back. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CONFIG, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newHostedRig } from "../support/hosted_rig.ts";
import { type Case, type Desk, faultsOf, logIn, openPage, OPS } from "./desk.ts";

const EVIL = `<img src=x onerror="document.title='broken'">`;
const MESSAGES = "/oss/v1/messages";

const RECORDED: ConfigInput = {
  ...CONFIG,
  console: { record: {} },
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
};

const recording = (answer = () => answerWhole("one two")) => () =>
  newApp({ config: RECORDED, now: Date.now, fetch: () => Promise.resolve(answer()) });

async function ask(desk: Desk, more: object = {}, headers: Record<string, string> = {}): Promise<void> {
  const body = { model: "model", max_tokens: 100, messages: [{ role: "user", content: "Hello" }], ...more };
  await (await desk.app.post(MESSAGES, body, { "x-api-key": OPS, ...headers })).text();
}

/** Opens the latest request. */
async function inspect(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  desk.complaints.length = 0; // that nobody was logged in at first
  await openPage(page, "Inspect");
  await page.getByRole("link", { name: /^Request at/ }).first().click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
}

/** The same from the details of the latest request on the page Live. */
async function inspectFromLive(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  desk.complaints.length = 0; // that nobody was logged in at first
  await page.getByRole("button", { name: /details$/ }).first().click();
  await page.getByRole("dialog").getByRole("link", { name: "Inspect" }).click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
}

async function wholeWay(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  const tools = [{ name: "a.b", input_schema: { type: "object" } }, {
    type: "web_search_20250305",
    name: "web_search",
  }];
  await ask(desk, { tools }, { "user-agent": "agent/1.0" });
  await inspect(desk);
  const side = (name: string) => page.getByRole("region", { name });
  assertStringIncludes(await side("The client sent").innerText(), '"max_tokens": 100');
  assertEquals(await side("The client sent").locator("mark").allInnerTexts(), ['"name": "web_search"']);
  await side("The client sent").getByText("← dropped tool web_search").waitFor();
  const understood = await side("The gateway understood").innerText();
  assertStringIncludes(understood, '"a.b"');
  assertEquals(await side("The gateway understood").locator("del").first().innerText(), '"a.b"');
  assertStringIncludes(await side("The upstream received").innerText(), "http://upstream.test/v1/chat/completions");
  assertStringIncludes(await side("The upstream answered").innerText(), '"object": "chat.completion"');
  assertStringIncludes(await side("The gateway read").innerText(), '"text": "one two"');
  assertStringIncludes(await side("The client received").innerText(), '"type": "message"');
  await page.getByText("fake/org/model, first attempt: 200").waitFor();
  await side("The upstream received").getByRole("button", { name: "As curl" }).click();
  const curl = await page.getByRole("dialog").getByRole("textbox").inputValue();
  assertStringIncludes(curl, `-H 'authorization: Bearer '"$UPSTREAM_KEY"''`);
  await page.getByRole("button", { name: "Close" }).click();
  assertEquals(complaints, []);
}

async function again(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await ask(desk, { stream: true, top_k: 5 });
  await inspectFromLive(desk);
  const replay = page.getByRole("region", { name: "Replay" });
  await replay.getByRole("button", { name: "Edit and send again" }).click();
  await replay.getByLabel("Wire").selectOption("responses");
  await replay.getByText("dropped top_k").waitFor();
  const body = replay.getByLabel("Body");
  const text = await body.inputValue();
  assertEquals(JSON.parse(text).max_output_tokens, 100);
  await body.fill("{");
  await replay.getByRole("button", { name: "Send again" }).click();
  await replay.getByText(/JSON/).waitFor();
  await body.fill(text.replace("Hello", "Good day"));
  await replay.getByRole("button", { name: "Send again" }).click();
  await replay.getByText(/^Status 200 after/).waitFor();
  assertStringIncludes(await replay.getByRole("region", { name: "First answer" }).innerText(), '"one two"');
  const answer = replay.getByRole("region", { name: "New answer" });
  await answer.getByText('"text": "one two"').waitFor();
  assertEquals(await faultsOf(page), []);
  await answer.getByRole("link", { name: "Inspect" }).click();
  await page.getByText("POST /oss/v1/responses").waitFor();
  assertStringIncludes(await page.getByRole("region", { name: "The upstream received" }).innerText(), "Good day");
  assertEquals(complaints, []);
}

/** Of a request that runs, only what has changed is drawn anew: who reads it loses no place. */
async function whileItRuns(desk: Desk): Promise<void> {
  const { page } = desk;
  const write = (text: string) => upstream.enqueue(new TextEncoder().encode(text));
  const running = ask(desk, { stream: true, messages: [{ role: "user", content: "a line\n".repeat(200) }] });
  await inspect(desk);
  const [sent, answered] = ["The client sent", "The upstream answered"].map((name) =>
    page.getByRole("region", { name })
  );
  const choice = page.getByLabel("Upstream call");
  assertEquals(await choice.inputValue(), "1", "The one that serves");
  await choice.selectOption("0");
  await answered!.getByText("Status 503").waitFor();
  write(word("first "));
  await page.getByRole("region", { name: "The client received" }).getByText("first ").waitFor();
  assertEquals([await choice.inputValue(), await answered!.getByText("Status 503").count()], ["0", 1]);
  await choice.selectOption("1");
  const text = answered!.locator("pre").first();
  await text.getByText("first ").waitFor();
  await sent!.getByText(/^\d+ headers$/).click();
  await page.evaluate(READ);
  await sent!.getByRole("button", { name: "Raw" }).focus();
  const before = await page.evaluate(STATE);
  for (const one of ["second ", "third "]) {
    write(word(one));
    await text.getByText(one).waitFor();
    assertEquals(await page.evaluate(STATE), before);
  }
  await answered!.getByRole("button", { name: "Raw" }).click();
  assertStringIncludes(await page.getByRole("dialog").getByRole("textbox").inputValue(), "third ");
  await page.getByRole("button", { name: "Close" }).click();
  await sent!.getByRole("button", { name: "Raw" }).focus();
  await page.evaluate(READ);
  write(ENDING);
  upstream.close();
  await running;
  await page.getByRole("region", { name: "Replay" }).waitFor();
  await page.getByText("Finished: 200").waitFor();
  assertEquals(await page.evaluate(STATE), before);
}
let upstream: ReadableStreamDefaultController<Uint8Array>;

/** Selects a part of the answer, and scrolls what it is in. */
const READ = `{
  const pre = document.querySelector("section[aria-label='The upstream answered'] pre");
  document.styleSheets[0].insertRule("pre { max-height: 2em !important; overflow: auto }", 0);
  pre.scrollTop = 9;
  const text = pre.firstChild;
  getSelection().setBaseAndExtent(text, 3, text, 30);
}`;
/** What a reader has opened, selected, scrolled to and reached. */
const STATE = `[
  document.querySelectorAll("section details[open]").length,
  getSelection().toString(),
  document.querySelector("section[aria-label='The upstream answered'] pre").scrollTop,
  document.activeElement.textContent,
]`;

async function forEverybody(desk: Desk): Promise<void> {
  const { page } = desk;
  await ask(desk, { top_k: 5, tools: [{ name: "a.b", input_schema: {} }] });
  await inspect(desk);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    assertEquals(await faultsOf(page), [], colorScheme);
  }
  await page.setViewportSize({ width: 360, height: 640 });
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assertEquals(overflow, 0, "It is wider than the phone");
  await page.getByRole("link", { name: "All recorded requests" }).click();
  const rows = page.getByRole("link", { name: /^Request at/ });
  await rows.waitFor();
  await page.getByLabel("Filter").fill("status:error");
  await page.getByText("Recorded requests, latest first: 0").waitFor();
  await page.getByLabel("Filter").fill("model 200");
  await page.getByText("Recorded requests, latest first: 1").waitFor();
  await page.getByLabel("Filter").fill("");
  assertEquals(await faultsOf(page), []);
  await rows.focus();
  const place = await rows.getAttribute("href");
  await ask(desk);
  await rows.nth(1).waitFor();
  assertEquals(
    await page.evaluate("document.activeElement.getAttribute('href')"),
    place,
    "The keyboard loses its place",
  );
}

/** Whatever stands in requests, answers, heads and errors is text, and no secret is in the page. */
async function hostile(desk: Desk): Promise<void> {
  const { page } = desk;
  const latin = EVIL.replaceAll('"', "'");
  await ask(desk, {
    system: EVIL,
    [EVIL]: EVIL,
    constructor: EVIL,
    deep: JSON.parse("[".repeat(400) + "]".repeat(400)),
    messages: [{
      role: "user",
      content: `${EVIL} ${ENV.UPSTREAM_SECRET} </pre><script>document.title='broken'</script>`,
    }],
    tools: [{ name: EVIL, input_schema: { [EVIL]: EVIL } }],
  }, { "user-agent": latin, "x-evil": latin });
  await inspect(desk);
  for (const summary of await page.locator("summary").all()) await summary.click();
  for (const button of await page.getByRole("button", { name: /^(Raw|As curl)$/ }).all()) {
    await button.click();
    await page.getByRole("button", { name: "Close" }).click();
  }
  assertEquals(await page.locator("main img, main script, dialog img").count(), 0);
  assertEquals(await page.title(), "Inspect · Laneway");
  const text = await page.content();
  assertStringIncludes(text, "&lt;img");
  for (const secret of Object.values(ENV)) assert(!text.includes(secret), "A secret is in the page");
}

/** Whatever stands in the address, there is a page. */
async function anyAddress({ page, url, complaints, ...desk }: Desk): Promise<void> {
  await logIn({ page, url, complaints, ...desk });
  complaints.length = 0;
  for (const [hash, title] of [["inspect?%", "Inspect"], ["live?%E0", "Live"], ["constructor", "Live"]]) {
    await page.goto(`${url}/console/#${hash}`);
    await page.getByRole("heading", { name: title, exact: true }).waitFor();
  }
  assertEquals(complaints, []);
}

/** A request whose answer took a search and two calls, and one that took one. */
async function rounds(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await ask(desk, { tools: [{ type: "web_search_20250305", name: "web_search" }] });
  await inspect(desk);
  const choice = page.getByLabel("Upstream call");
  const understood = page.getByRole("region", { name: "The gateway understood" });
  const received = page.getByRole("region", { name: "The upstream received" });
  for (const [index, text] of [[0, "Hello"], [1, "Rain, 7 degrees"]] as const) {
    await choice.selectOption(String(index));
    await received.getByText(text).first().waitFor();
    assertEquals(await understood.locator(".error").allInnerTexts(), []);
  }
  await understood.getByText("It follows from the answer to an earlier call").waitFor();
  await page.getByText("fake/org/model, follow-up: 200").waitFor();
  await page.locator("summary").first().click();
  const facts = await page.locator("details dl").first().innerText();
  assertStringIncludes(facts, "1 web search");
  assert(!facts.includes("[object"), facts);
  await page.getByRole("link", { name: "All recorded requests" }).click();
  await ask(desk);
  await page.getByRole("link", { name: /^Request at/ }).nth(1).waitFor();
  await page.getByRole("link", { name: /^Request at/ }).first().click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  assert(!await choice.isVisible(), "There is one call, and so nothing to choose");
  assertEquals(complaints, []);
}

async function nothingKept(desk: Desk): Promise<void> {
  await logIn(desk);
  await openPage(desk.page, "Inspect");
  await desk.page.getByText("Nothing is recorded. With recording on").waitFor();
  await desk.page.getByRole("button", { name: "Record requests …" }).click();
  // This gateway got its configuration from a program, so the setting is there to be copied.
  await desk.page.getByRole("dialog").getByText('"record": {}').waitFor();
}

export const inspectCases: Case[] = [
  { name: "a recorded request on its way, with its notes at their fields", app: recording(), run: wholeWay },
  {
    name: "a recorded request is sent again, changed, on another wire, and its answer stands beside the first",
    app: recording(() => answerStream([word("one "), word("two"), ENDING])),
    run: again,
  },
  {
    name: "a request that is looked at while it runs keeps what its reader has opened, selected and scrolled",
    app() {
      const answers = [() => new Response(null, { status: 503 }), () => {
        const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upstream = controller) });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      }];
      const config = { ...RECORDED, retry: { budgetMs: 10_000 } };
      return newApp({ config, now: Date.now, fetch: () => Promise.resolve(answers.shift()!()) });
    },
    run: whileItRuns,
  },
  {
    name: "the rounds of a hosted tool are told apart, and are no difference of today",
    app: () =>
      newHostedRig({
        rounds: [['web_search{"query":"oslo"}'], ["Rain"], ["Hello"]],
        config: { console: RECORDED.console, keys: RECORDED.keys } as JsonObject,
        now: Date.now,
      }).app,
    run: rounds,
  },
  { name: "inspect passes axe, light and dark, wide and narrow", app: recording(), run: forEverybody },
  {
    name: "whatever was recorded is text",
    app: recording(() => {
      const answer = { id: EVIL, choices: [{ message: { role: "assistant", content: EVIL }, finish_reason: EVIL }] };
      return Response.json(answer, { headers: { "x-evil": EVIL } });
    }),
    run: hostile,
  },
  { name: "an address that nobody wrote opens a page", app: recording(), run: anyAddress },
  {
    name: "without recording the page says what to do",
    app: () => newApp({ config: { ...RECORDED, console: {} }, now: Date.now }),
    run: nothingKept,
  },
];
