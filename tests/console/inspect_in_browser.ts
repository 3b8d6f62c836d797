/** Inspect in a real browser: a recorded request on its way, there and back. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CONFIG, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, frame, word } from "../support/chat.ts";
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
  await page.getByRole("tab", { name: "Step by step" }).click();
}

/** The same from the details of the latest request on the page Live. */
async function inspectFromLive(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  desk.complaints.length = 0; // that nobody was logged in at first
  await page.getByRole("button", { name: /details$/ }).first().click();
  await page.getByRole("dialog").getByRole("link", { name: "Inspect" }).click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await page.getByRole("tab", { name: "Step by step" }).click();
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
  await side("The upstream received").getByRole("button", { name: "As code" }).click();
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
  await page.getByRole("tab", { name: "Step by step" }).click();
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
/** The streams of two cases, which run side by side. */
let upstream: ReadableStreamDefaultController<Uint8Array>;
let answering: ReadableStreamDefaultController<Uint8Array>;

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
  const [wide, narrow] = [{ width: 1440, height: 900 }, { width: 360, height: 640 }];
  for (const [view, seen] of [["Step by step", ".sides"], ["Compare", ".diff-table"], ["Answer", ".ending"]] as const) {
    await page.setViewportSize(wide);
    await page.getByRole("tab", { name: view }).click();
    await page.locator(seen).first().waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      assertEquals(await faultsOf(page), [], `${view}, ${colorScheme}`);
    }
    await page.setViewportSize(narrow);
    const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assertEquals(overflow, 0, `${view} is wider than the phone`);
    assertEquals(await faultsOf(page), [], `${view}, on a phone`);
  }
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
  for (const view of ["Step by step", "Compare", "Answer"]) {
    await page.getByRole("tab", { name: view }).click();
    await page.getByRole("tabpanel").getByText("<img").filter({ visible: true }).first().waitFor();
    for (const summary of await page.locator("summary").all()) await summary.click();
    for (const button of await page.getByRole("button", { name: /^(Raw|As code)$/ }).all()) {
      await button.click();
      await page.getByRole("button", { name: "Close" }).click();
    }
    assertEquals(await page.locator("main img, main script, dialog img").count(), 0);
    assertEquals(await page.title(), "Inspect · Laneway");
    const text = await page.content();
    assertStringIncludes(text, "&lt;img");
    for (const secret of Object.values(ENV)) assert(!text.includes(secret), "A secret is in the page");
  }
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

/** The answer as it was read, and the frames of each of its parts, while it comes and afterwards. */
async function asRead(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  const write = (text: string) => answering.enqueue(new TextEncoder().encode(text));
  const tools = [{ name: "look", input_schema: { type: "object" } }];
  const running = ask(desk, { stream: true, tools, messages: [{ role: "user", content: "Is it **raining**?" }] });
  await logIn(desk);
  complaints.length = 0; // that nobody was logged in at first
  await openPage(page, "Inspect");
  await page.getByRole("link", { name: /^Request at/ }).first().click();
  const read = page.getByRole("region", { name: "As its reader saw it" });
  await read.locator("strong", { hasText: "raining" }).waitFor();
  write(frame({ delta: { role: "assistant", reasoning_content: "The window says it." } }));
  write(word("# Yes\n\n| mm |\n|---|\n| 7 |\n\n") + word("[more](javascript:alert(1)) <script>alert(1)</script>"));
  await read.getByRole("cell", { name: "7" }).waitFor();
  await read.getByText("still running").waitFor();
  const call = { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"window"}' } };
  write(frame({ delta: { tool_calls: [call] } }) + frame({ delta: {}, finish_reason: "tool_calls" }) + USED);
  answering.close();
  await running;
  await read.getByText("It waits for the results of tools").waitFor();
  assertStringIncludes(await read.innerText(), "5 in, 3 out");
  assertEquals(await read.locator("script, a").count(), 0);
  assertEquals(await read.locator(".inside").count(), 0, "Reasoning and calls are not folded");
  await read.getByText("Reasoning", { exact: true }).click();
  await read.locator("p", { hasText: "The window says it." }).waitFor();
  await read.getByText("look", { exact: true }).click();
  await read.getByText('"at": "window"').waitFor();
  // In a wide window the frames are beside it; a click hides them, or shows them.
  const frames = page.getByRole("region", { name: "Raw frames" });
  await frames.waitFor();
  await read.getByRole("button", { name: "Raw frames" }).click();
  await frames.waitFor({ state: "hidden" });
  await read.getByRole("button", { name: "Raw frames" }).click();
  await frames.waitFor();
  await read.getByRole("button", { name: /^Frames? \d/ }).nth(1).click();
  const lit = frames.locator('li[data-lit="true"]');
  assert((await lit.allInnerTexts()).every((text) => text.includes("text")), "Others are marked");
  await lit.locator("summary").first().click();
  await lit.getByText("# Yes").waitFor();
  await frames.getByRole("button", { name: /^Show the tool call/ }).first().click();
  await read.locator('.read-part[data-lit="true"]', { hasText: "look" }).waitFor();
  assertEquals(complaints, []);
}
const USED = `data: ${
  JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } })
}\n\ndata: [DONE]\n\n`;

/** A request that took two attempts: each pair is one click away. */
async function attempts(desk: Desk): Promise<void> {
  const { page } = desk;
  await ask(desk);
  await inspect(desk);
  await page.getByRole("tab", { name: "Compare" }).click();
  const table = page.locator(".diff-table");
  await table.locator("ins mark", { hasText: "org/" }).waitFor();
  await page.getByRole("button", { name: "Requests 1 and 2" }).click();
  await page.getByText("Both are the same.").waitFor();
  await page.getByRole("button", { name: "Answers 1 and 2" }).click();
  await table.locator("del", { hasText: "Busy" }).waitFor();
  await table.locator("ins", { hasText: "one two" }).waitFor();
  assertEquals(await page.getByRole("button", { name: "Answers 1 and 2" }).getAttribute("aria-pressed"), "true");
}

/** Two forms of a request side by side, and a request beside the one that it repeats. */
async function compared(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  const long = Array.from({ length: 40 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: `Line ${at}` }));
  const messages = [...long, { role: "user", content: "Hello" }];
  await ask(desk, { messages, top_k: 5 });
  await ask(desk, { messages: [...long, { role: "user", content: "Good day" }], top_k: 5 });
  await logIn(desk);
  complaints.length = 0; // that nobody was logged in at first
  const [second, first] = await idsOf(desk);
  await page.goto(`${desk.url}/console/#inspect?${second}&compare&${first}`);
  const table = page.locator(".diff-table");
  await table.locator("del", { hasText: "Hello" }).waitFor();
  assertEquals(await page.getByLabel("Left").locator("option:checked").innerText(), `${first}: The client's request`);
  assertEquals(await table.locator("ins mark").allInnerTexts(), ["Good day"]);
  assertEquals(await table.locator("tbody").getByText("Line 5").count(), 0, "The same parts are not folded");
  await table.getByRole("button", { name: /lines are the same/ }).first().click();
  await table.getByText("Line 5").first().waitFor();
  await page.getByLabel("With another request").selectOption("");
  await page.getByLabel("Right").selectOption({ label: "Request 1 to fake/org/model, first attempt" });
  await table.locator("ins mark", { hasText: "org/" }).waitFor();
  assertStringIncludes(page.url(), `#inspect?${second}&compare`);
  await page.getByRole("button", { name: "Swap the sides" }).click();
  await table.locator("del mark", { hasText: "org/" }).waitFor();
  await page.getByLabel("Left").selectOption({ label: "The client's request" });
  await page.getByLabel("Right").selectOption({ label: "The client's request" });
  await page.getByText("Both are the same.").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByLabel("Right").selectOption({ label: "Request 1 to fake/org/model, first attempt" });
  await table.locator("ins mark").first().waitFor();
  const [gone, came] = await Promise.all(["del", "ins"].map((tag) => table.locator(tag).first().boundingBox()));
  assert(gone!.y < came!.y && gone!.x === came!.x, "On a phone they are not below each other");
  assertEquals(complaints, []);
}

async function idsOf({ app }: Desk): Promise<string[]> {
  const { data } = await (await app.get("/console/api/records", { authorization: `Bearer ${OPS}` })).json();
  return data.map(({ id }: { id: string }) => id);
}

/** Programs that send the request again, with a body that is longer than what the page has of it. */
async function asCode(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await ask(desk, { system: `${EVIL}${"x".repeat(300_000)} the end` });
  await inspect(desk);
  await page.getByRole("button", { name: "As code" }).first().click();
  const dialog = page.getByRole("dialog");
  for (
    const [language, part] of [["Python", "client.messages.create("], ["TypeScript", "await client.messages"], [
      "curl",
      "--data-binary @-",
    ]]
  ) {
    await dialog.getByRole("button", { name: language }).click();
    const text = await dialog.getByRole("textbox", { name: `The request in ${language}` }).inputValue();
    assertStringIncludes(text, part!);
    assertStringIncludes(text, " the end");
    assertStringIncludes(text, desk.url);
    assertStringIncludes(text, "LANEWAY_KEY");
    assert(!text.includes(OPS), "The key is in it");
  }
  await page.setViewportSize({ width: 390, height: 844 });
  const overflow = await dialog.getByRole("textbox").evaluate(({ scrollWidth, clientWidth }) =>
    scrollWidth - clientWidth
  );
  assertEquals(overflow, 0, "Nothing is cut off");
  assertEquals(await faultsOf(page), []);
  assertEquals(complaints, []);
}

/** The address opens a request in the same view, and says so kindly if it is gone. */
async function permalinks(desk: Desk): Promise<void> {
  const { page, url } = desk;
  await ask(desk);
  await inspect(desk);
  await page.getByRole("tab", { name: "Compare" }).click();
  const address = page.url();
  await page.goto(`${url}/console/#live`);
  await page.getByRole("heading", { name: "Live" }).waitFor();
  await page.goto(address);
  await page.getByRole("tab", { name: "Compare", selected: true }).waitFor();
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.getByText(/link/i).locator("visible=true").first().waitFor();
  await page.goto(`${url}/console/#inspect?req_gone&steps`);
  await page.getByRole("heading", { name: "This request is no longer kept" }).waitFor();
  await page.getByRole("link", { name: "Requests that are kept" }).click();
  await page.getByRole("link", { name: /^Request at/ }).waitFor();
}

/** The conditions of the list are chips, and part of its address. */
async function filtered(desk: Desk): Promise<void> {
  const { page, url } = desk;
  await ask(desk, {}, { "user-agent": "agent/1.0" });
  await ask(desk, { model: "none" }, { "user-agent": "other/2.0" });
  await logIn(desk);
  await page.goto(`${url}/console/#inspect`);
  const number = (count: number) => page.getByText(`Recorded requests, latest first: ${count}`).waitFor();
  await number(2);
  const field = page.getByLabel("Filter");
  await field.pressSequentially("status:error");
  await number(1);
  assertEquals(await field.inputValue(), "status:error", "A condition is cut while it is written");
  await field.press("Enter");
  await page.getByRole("button", { name: "Remove Status error" }).waitFor();
  assertEquals(await field.inputValue(), "");
  await page.reload();
  await number(1);
  await page.getByRole("button", { name: "Remove Status error" }).click();
  await number(2);
  await page.getByRole("button", { name: "Client" }).click();
  await page.getByRole("menuitem", { name: /^agent\/1\.0/ }).click();
  await number(1);
  await field.fill("nothing");
  await number(0);
  await page.getByRole("button", { name: "Show all" }).click();
  await number(2);
  assertEquals(await field.inputValue(), "");
  assert(!page.url().includes("filter"));
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
  {
    name: "an answer is read as its client read it, beside the frames that built it, also while it comes",
    app: () =>
      newApp({
        config: RECORDED,
        now: Date.now,
        fetch() {
          const body = new ReadableStream<Uint8Array>({ start: (controller) => void (answering = controller) });
          return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
        },
      }),
    run: asRead,
  },
  {
    name: "two forms or two requests are compared side by side, with the same parts folded",
    app: recording(),
    run: compared,
  },
  {
    name: "two attempts are compared",
    app() {
      const answers = [
        () => Response.json({ error: { message: "Busy" } }, { status: 503 }),
        () => answerWhole("one two"),
      ];
      const config = { ...RECORDED, retry: { budgetMs: 10_000 } };
      return newApp({ config, now: Date.now, fetch: () => Promise.resolve(answers.shift()!()) });
    },
    run: attempts,
  },
  { name: "a request is copied as a command or a program", app: recording(), run: asCode },
  { name: "the address of a request opens its view, and a forgotten one says so", app: recording(), run: permalinks },
  { name: "recorded requests are found by conditions, which stay in the address", app: recording(), run: filtered },
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
