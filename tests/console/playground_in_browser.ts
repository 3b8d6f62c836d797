/** The playground in a browser. */
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import type { Page } from "playwright-core";
import { CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { frame } from "../support/chat.ts";
import { until } from "../support/wait.ts";
import { type Case, type Desk, faultsOf, lastingStore, logIn, openPage } from "./desk.ts";

const EVIL = `<img src=x onerror="document.title='broken'">`;
const { model, sandbox } = CONFIG.lanes.oss.models;
const KEYED: ConfigInput = {
  ...CONFIG,
  console: { record: {} },
  lanes: { oss: { models: { sandbox, model: { ...model, price: { input: 1_000, output: 1_000 } } } } },
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
};
const GIF = "R0lGODlhAQABAAAAACwAAAAAAQABAAA=";

/** An upstream whose answer thinks, begins, and never ends. */
const endless = () => {
  const encoder = new TextEncoder();
  const frames = [{ reasoning_content: "Let me see" }, { content: `Once upon **a** ${EVIL}` }].map((delta) =>
    frame({ delta })
  );
  const body = new ReadableStream({ start: (controller) => controller.enqueue(encoder.encode(frames.join(""))) });
  return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
};

const USAGE = `data: ${
  JSON.stringify({ choices: [], usage: { prompt_tokens: 70, completion_tokens: 30, total_tokens: 100 } })
}\n\n`;

/** An upstream that calls a tool first, and then repeats the result. `asked` receives the bodies. */
function calling(asked: { messages: { role: string; content: string }[] }[]) {
  return async (_: unknown, init?: RequestInit) => {
    const body = JSON.parse(await new Response(init?.body).text());
    asked.push(body);
    const last = body.messages.at(-1);
    const call = {
      index: 0,
      id: `c${asked.length}`,
      type: "function",
      function: { name: "look", arguments: '{"at":"sea"}' },
    };
    const delta = last.role === "tool" ? { content: `It is ${last.content}` } : { tool_calls: [call] };
    const frames = [
      frame({ delta }),
      frame({ delta: {}, finish_reason: last.role === "tool" ? "stop" : "tool_calls" }),
    ];
    const text = [...frames, USAGE, "data: [DONE]\n\n"].join("");
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  };
}

const answerOf = (page: Page, message: number, side: number) =>
  page.getByRole("region", { name: `Answer ${message} of model ${side}` });

async function begin(desk: Desk): Promise<Page> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  await openPage(page, "Playground");
  // Those who have a model are not shown the sandbox first.
  await until(async () => await page.getByLabel("Model 1", { exact: true }).inputValue() === "oss/model");
  return page;
}

async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByLabel("Message", { exact: true }).press("Control+Enter");
}

async function pasteAndDrop(page: Page): Promise<void> {
  await page.evaluate(`{
    const bytes = Uint8Array.from(atob("${GIF}"), (one) => one.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "pasted.gif", { type: "image/gif" }));
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    document.querySelector(".composer textarea").dispatchEvent(event);
  }`);
  await page.getByRole("img", { name: "pasted.gif" }).waitFor();
  await page.evaluate(`{
    const data = new DataTransfer();
    data.items.add(new File(["%PDF"], "dropped.pdf", { type: "application/pdf" }));
    const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector(".composer").dispatchEvent(event);
  }`);
  for (const name of ["pasted.gif", "dropped.pdf"]) await page.getByRole("button", { name: `Remove ${name}` }).click();
}

async function sideBySide(desk: Desk): Promise<void> {
  const page = await begin(desk);
  await page.getByText("No message yet").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("alert").getByText("Write a message first").waitFor();
  await page.getByRole("button", { name: "Compare with another model" }).click();
  assertEquals(await page.getByLabel("Model 2", { exact: true }).inputValue(), "oss/sandbox", "The one not shown yet");
  await page.getByLabel("API of model 2").selectOption("gemini");
  await page.getByLabel("Files", { exact: true }).setInputFiles([
    { name: "dot.gif", mimeType: "image/gif", buffer: Buffer.from(GIF, "base64") },
    { name: "other.gif", mimeType: "image/gif", buffer: Buffer.from(GIF, "base64") },
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Some notes") },
  ]);
  await page.getByRole("img", { name: "dot.gif" }).waitFor();
  await page.getByRole("button", { name: "Remove other.gif" }).click();
  await page.getByLabel("Files", { exact: true }).setInputFiles([
    { name: "tool.exe", mimeType: "application/octet-stream", buffer: Buffer.from([0, 1, 2, 255]) },
  ]);
  await page.getByRole("alert").getByText('"tool.exe" cannot be sent').waitFor();
  await pasteAndDrop(page);
  await send(page, "Tell me");
  const [one, two] = [answerOf(page, 1, 1), answerOf(page, 1, 2)];
  await one.getByText("Once upon").waitFor();
  assertEquals(await one.locator("strong").textContent(), "a", "Markdown is drawn");
  assertEquals(await page.locator("img[src=x]").count(), 0, "Markup stays text");
  assertEquals(await one.getByText("Let me see").isVisible(), true, "Reasoning is folded, with its first words");
  await two.getByText("Done").waitFor();
  for (const fact of ["First event", "Whole answer", "Tokens out", "sandbox/sandbox"]) {
    await two.getByText(fact).waitFor();
  }
  assertEquals(await page.getByRole("img", { name: "other.gif" }).count(), 0);
  assertEquals(await faultsOf(page), []);
  await one.getByRole("button", { name: "Stop" }).click();
  await one.getByText("Stopped").waitFor();
  const asked = () => desk.app.logs.filter(({ model }) => model !== undefined);
  await until(() => asked().length === 2);
  assertEquals(asked().map(({ key, model, protocol }) => `${key} ${model} ${protocol}`).sort(), [
    "ops model messages",
    "ops sandbox gemini-v1beta-stream",
  ]);
  assertEquals(desk.complaints, []);
  await two.getByRole("link", { name: "Open in Inspect" }).click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await openPage(page, "Playground");
  await two.getByText("Done").waitFor();
}

const rounds: { messages: { role: string; content: string }[] }[] = [];

async function addTool(page: Page): Promise<void> {
  await page.getByText("Tools", { exact: true }).click();
  await page.getByRole("button", { name: "Add tool" }).click();
  await page.getByLabel("Name", { exact: true }).fill("look");
  await page.getByRole("button", { name: "Add argument" }).click();
  const name = page.getByLabel("Name of argument argument_1");
  await name.fill("at");
  await name.press("Tab");
  await page.getByLabel("Description of at").fill("Where to look");
}

/** A tool that is written as a form, called, and answered by hand and by a preset. */
async function toolsByForms(desk: Desk): Promise<void> {
  rounds.length = 0;
  const page = await begin(desk);
  await page.getByLabel("System prompt").fill("Be brief");
  await addTool(page);
  await send(page, "Look");
  const one = answerOf(page, 1, 1);
  await one.getByText("look", { exact: true }).click();
  await one.getByRole("definition").getByText("sea").waitFor();
  await one.getByLabel("Result of look").fill("calm");
  assertEquals(await faultsOf(page), []);
  await one.getByRole("button", { name: "Send the result" }).click();
  await one.getByText("It is calm").waitFor();
  await one.getByText("$0.1", { exact: false }).first().waitFor();
  const [first, second] = rounds as unknown as [{ tools: { function: object }[] }, (typeof rounds)[number]];
  assertEquals(first.tools.map(({ function: tool }) => tool), [{
    name: "look",
    parameters: {
      type: "object",
      properties: { at: { type: "string", description: "Where to look" } },
      required: ["at"],
    },
  }]);
  assertEquals(second.messages.map(({ role }) => role), ["system", "user", "assistant", "tool"]);
  await page.getByLabel("Preset result").fill("wild");
  await send(page, "Again");
  await answerOf(page, 2, 1).getByText("It is wild").waitFor();
  assertEquals(
    rounds.at(-1)!.messages.map(({ role }) => role).join(" "),
    [
      "system user assistant tool assistant",
      "user assistant tool",
    ].join(" "),
  );
  await page.getByRole("button", { name: "Edit message 1" }).click();
  assertEquals(await faultsOf(page), []);
  await page.getByLabel("Edited message").fill("Look again");
  await page.getByRole("button", { name: "Send again" }).click();
  await answerOf(page, 1, 1).getByText("It is wild").waitFor();
  assertEquals(
    await page.getByRole("listitem", { name: /^Message/ }).count(),
    1,
    "Later messages answered the old one",
  );
  assertEquals(rounds.at(-1)!.messages[1]!.content, "Look again");
  const before = rounds.length;
  await page.getByLabel("API of model 1").selectOption("ollama");
  await page.getByLabel("Use of tools").selectOption("required");
  await answerOf(page, 1, 1).getByRole("button", { name: "Retry" }).click();
  await answerOf(page, 1, 1).getByText("Changed for this API: dropped tool_choice").first().waitFor();
  await until(() => rounds.length === before + 2);
  await answerOf(page, 1, 1).getByText("It is wild").waitFor();
  await page.getByRole("button", { name: "Remove message 1" }).click();
  await page.getByText("No message yet").waitFor();
  assertEquals(desk.complaints, []);
}

/** The settings travel by the address; keys and what is too long do not. */
async function shared(desk: Desk): Promise<void> {
  const page = await begin(desk);
  await page.getByLabel("System prompt").fill(`Be "brief"? 100 % & #1`);
  await page.getByLabel("Reasoning effort").selectOption("high");
  await page.getByLabel("Temperature").fill("0.3");
  await page.getByLabel("Message", { exact: true }).fill("Hello");
  await page.getByRole("button", { name: "Schema" }).click();
  const schema = page.getByLabel("JSON schema of the answer");
  await schema.fill("{");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("alert").getByText("The schema of the answer is not valid JSON").waitFor();
  await schema.fill('{ "type": "object" }');
  await page.getByText("Tools", { exact: true }).click();
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  const tools = page.getByLabel("Tools (a JSON list)");
  await tools.fill("[{ }]");
  await page.getByText('Tool 1 needs a "name"').waitFor();
  assertEquals(await tools.getAttribute("aria-invalid"), "true");
  await tools.fill('[{ "type": "mcp", "server_url": "https://a.test", "authorization": "my-own-key" }]');
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByText("Secrets of tools were left out").waitFor();
  const address = page.url();
  assert(!address.includes("my-own-key"));
  await page.getByLabel("System prompt").fill("x".repeat(9_000));
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByText(/too long for an address: 9,\d+ characters, and 8,000 fit/).waitFor();
  await page.getByRole("button", { name: "As code" }).click();
  await page.getByText(`-H 'authorization: Bearer '"$LANEWAY_KEY"`).waitFor();
  await page.getByRole("tab", { name: "Python" }).click();
  await page.getByText("client.messages.create(").waitFor();
  assertEquals(await faultsOf(page), []);
  await page.getByRole("button", { name: "Close" }).click();
  const other = await page.context().newPage();
  await other.goto(address);
  await until(async () => await other.getByLabel("System prompt").inputValue() === `Be "brief"? 100 % & #1`);
  assertEquals(await other.getByLabel("Reasoning effort").inputValue(), "high");
  assertEquals(await other.getByLabel("Temperature").inputValue(), "0.3");
  assertEquals(await other.getByLabel("Message", { exact: true }).inputValue(), "Hello");
  assertEquals(await other.getByLabel("JSON schema of the answer").inputValue(), '{ "type": "object" }');
  assertEquals(await other.getByLabel("Model 1", { exact: true }).inputValue(), "oss/model");
  await other.getByText("mcp").waitFor();
  await other.goto(`${address.slice(0, -40)}`);
  await other.getByText("The link may have been cut").waitFor();
  await other.close();
  assertEquals(desk.complaints, []);
}

/** An upstream that writes markup into everything that it can name. */
const hostile = () => {
  const call = {
    index: 0,
    id: EVIL,
    type: "function",
    function: { name: EVIL, arguments: JSON.stringify({ [EVIL]: EVIL }) },
  };
  const annotations = [{ type: "url_citation", url_citation: { url: "javascript:alert(1)", title: EVIL } }];
  const deltas = [{ reasoning_content: EVIL }, { content: `${EVIL} [${EVIL}](javascript:alert(1))`, annotations }, {
    tool_calls: [call],
  }];
  const frames = [...deltas.map((delta) => frame({ delta })), frame({ delta: {}, finish_reason: "tool_calls" }), USAGE];
  const text = [...frames, "data: [DONE]\n\n"].join("");
  return Promise.resolve(new Response(text, { headers: { "content-type": "text/event-stream" } }));
};

async function hostileContent(desk: Desk): Promise<void> {
  const page = await begin(desk);
  await page.getByLabel("Files", { exact: true }).setInputFiles([
    { name: `${EVIL}.txt`, mimeType: "text/plain", buffer: Buffer.from(EVIL) },
    { name: `${EVIL}.gif`, mimeType: "image/gif", buffer: Buffer.from(GIF, "base64") },
  ]);
  await page.getByRole("button", { name: "Compare with another model" }).click();
  await page.getByLabel("Model 2", { exact: true }).fill(`oss/${EVIL}`);
  await send(page, EVIL);
  const one = answerOf(page, 1, 1);
  await one.getByText("Done").waitFor();
  for (const summary of await one.locator("summary").all()) await summary.click();
  await one.getByRole("definition").getByText(EVIL).waitFor();
  await one.getByRole("textbox").fill(EVIL);
  await answerOf(page, 1, 2).getByRole("alert").getByText(EVIL).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "As code" }).click();
  await page.getByRole("dialog").getByRole("tab", { name: "curl" }).waitFor();
  const overflow = "document.querySelector('dialog').scrollWidth - document.querySelector('dialog').clientWidth";
  assertEquals(await page.evaluate(overflow), 0, "Nothing is cut off");
  assertEquals(await page.locator("img[src=x], a[href^=javascript]").count(), 0);
  assertEquals(await page.title(), "Playground · Laneway");
  assertEquals(await faultsOf(page), []);
  assertEquals(desk.complaints, []);
}

/** A gateway that dies and returns. */
async function dying(desk: Desk): Promise<void> {
  const page = await begin(desk);
  const half = `data: {"type":"part-start","index":0,"part":{"type":"text","text":"Half"}}\n\n`;
  await page.route(/playground\/ask/, (route) => route.fulfill({ contentType: "text/event-stream", body: half }), {
    times: 1,
  });
  await send(page, "Tell me");
  const one = answerOf(page, 1, 1);
  await one.getByText("Half").waitFor();
  await one.getByRole("alert").getByText("The answer broke off").waitFor();
  await desk.stop();
  await one.getByRole("button", { name: "Retry" }).click();
  await one.getByRole("alert").getByText("The gateway is not responding").waitFor();
  desk.start();
  await one.getByRole("button", { name: "Retry" }).click();
  await one.getByText("Answering").waitFor();
  await page.getByRole("button", { name: "Stop all" }).click();
  await one.getByText("Stopped").waitFor();
}

/** The session outlives the gateway. */
const lasting = lastingStore();
const withEndless = () => newApp({ config: KEYED, now: Date.now, fetch: endless });
export const playgroundCases: readonly Case[] = [
  {
    name: "playground: two models answer side by side, as they go, until they are stopped",
    app: withEndless,
    run: sideBySide,
  },
  {
    name: "playground: tools are written, called and answered in forms",
    app: () => newApp({ config: KEYED, now: Date.now, fetch: calling(rounds) as typeof fetch }),
    run: toolsByForms,
  },
  { name: "playground: settings travel by the address, without secrets", app: withEndless, run: shared },
  {
    name: "playground: markup in names, texts, calls, files and errors stays text",
    app: () => newApp({ config: KEYED, now: Date.now, fetch: hostile }),
    run: hostileContent,
  },
  {
    name: "playground: a gateway that dies amid an answer can be asked again",
    app: () => newApp({ config: KEYED, now: Date.now, fetch: endless, store: lasting }),
    run: dying,
  },
];
