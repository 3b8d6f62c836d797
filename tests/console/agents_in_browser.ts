/** The page of sessions in a browser: an agent's conversation, as it was read and written. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { CONFIG, type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { type Case, type Desk, faultsOf, logIn, openPage, OPS } from "./desk.ts";

const EVIL = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`;
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MARKDOWN = `## Found it

The **fault** is in \`a.ts\`: see [the docs](https://docs.test/a), or [run this](javascript:document.title='broken').

- one
- two

| file | line |
| --- | --- |
| a.ts | 7 |

\`\`\`ts
const a = 1;
\`\`\`

![tracker](https://evil.test/pixel.png)

${EVIL}
`;

const RECORDED: ConfigInput = {
  ...CONFIG,
  console: { record: {} },
  keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
};

/** An upstream that asks for a tool first, and then answers in Markdown. */
function agentApp(): TestApp {
  const upstream = fakeUpstream(({ body }) => {
    const { messages } = JSON.parse(body) as { messages: JsonObject[] };
    const isAnswer = messages.some(({ role }) => role === "tool");
    const cached = messages.length > 5 ? 0 : 2_000;
    const message = isAnswer ? { role: "assistant", content: MARKDOWN, reasoning_content: "The tool says where." } : {
      role: "assistant",
      content: "I look.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "read_file", arguments: '{"path":"a.ts"}' } }],
    };
    return Response.json({
      id: "1",
      object: "chat.completion",
      created: 1,
      model: "org/model",
      choices: [{ index: 0, message, finish_reason: isAnswer ? "stop" : "tool_calls" }],
      usage: {
        prompt_tokens: 2_000 + 500 * messages.length,
        completion_tokens: 20,
        prompt_tokens_details: { cached_tokens: cached },
      },
    });
  });
  return newApp({ config: RECORDED, now: Date.now, fetch: upstream.fetch });
}

const FIRST = {
  role: "user",
  content: [
    { type: "text", text: `Look at a.ts ${EVIL}` },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
  ],
};
const CALLED = {
  role: "assistant",
  content: [
    { type: "text", text: "I look." },
    { type: "tool_use", id: "call_1", name: "read_file", input: { path: "a.ts" } },
  ],
};
const RESULT = {
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "call_1", content: `line 7 ${EVIL} `.repeat(100) }],
};
const ANSWERED = { role: "assistant", content: [{ type: "text", text: "Found it" }] };

async function send({ app }: Desk, messages: unknown[], more: object = {}): Promise<void> {
  const tools = [{ name: "read_file", input_schema: { type: "object" } }];
  const body = { model: "model", max_tokens: 500, system: "You are an agent.", tools, messages, ...more };
  const headers = { "x-api-key": OPS, "x-claude-code-session-id": `c7d1 ${"<b>"}`, "user-agent": "claude-cli/2.3.1" };
  assertEquals((await app.post("/oss/v1/messages", body, headers)).status, 200);
}

async function read(desk: Desk): Promise<void> {
  const { page, complaints } = desk;
  await logIn(desk);
  complaints.length = 0;
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  await send(desk, [FIRST]);
  await send(desk, [FIRST, CALLED, RESULT]);
  await send(desk, [FIRST, CALLED, RESULT, ANSWERED, { role: "user", content: "And b.ts?" }], {
    system: "It is noon.",
  });
  await openPage(page, "Sessions");
  const row = page.getByRole("row").filter({ hasText: "c7d1 <b>" });
  assertStringIncludes((await row.textContent())!, "claude-cli/2.3.1");
  assertEquals(await row.locator("[data-column=turns]").textContent(), "3");
  assertEquals(await row.locator("[data-column=tools]").getAttribute("title"), "read_file 1");
  await row.getByRole("link").click();
  await page.getByRole("heading", { name: "Turn 1" }).waitFor();
  const first = page.locator(".turn").nth(0);
  await first.getByText("I look.").waitFor();
  assertEquals(await first.locator("img.picture").count(), 1);
  assert((await first.textContent())!.includes(EVIL), "Markup in a prompt stays text");
  await first.locator("summary").filter({ hasText: "read_file" }).click();
  await first.getByText(`"a.ts"`).waitFor();
  const second = page.locator(".turn").nth(1);
  await second.scrollIntoViewIfNeeded();
  await second.getByText("Result of read_file").waitFor();
  await second.getByText("Result of read_file").click();
  await second.locator("pre.result").filter({ hasText: "line 7" }).waitFor();
  await second.getByRole("heading", { name: "Found it" }).waitFor();
  assertEquals(
    await second.getByRole("link", { name: "the docs" }).getAttribute("rel"),
    "noopener noreferrer nofollow",
  );
  assertEquals(await second.getByRole("link", { name: "run this" }).count(), 0);
  assertEquals(await second.locator("td").allTextContents(), ["a.ts", "7"]);
  await second.getByText("Reasoning", { exact: true }).click();
  await second.getByText("The tool says where.").waitFor();
  assertEquals(await second.getByText("You are an agent.").count(), 0, "A turn has what it added");
  const third = page.locator(".turn").nth(2);
  await third.scrollIntoViewIfNeeded();
  await third.getByText("missed the cache").waitFor();
  await third.getByText("the instructions changed").waitFor();
  await page.getByText("Results of read_file").waitFor();
  await page.getByRole("button", { name: /^Turn 3: .* missed the cache/ }).waitFor();
  assertEquals(await faultsOf(page), []);
  assertEquals(requested.filter((url) => !url.startsWith(desk.url) && !url.startsWith("data:")), []);
  assertEquals([await page.title(), complaints], ["Sessions · Laneway", []]);
  await third.getByRole("link", { name: "Inspect turn 3" }).click();
  await page.getByRole("heading", { name: /^Request/ }).waitFor();
}

async function explained(desk: Desk): Promise<void> {
  const { page } = desk;
  await logIn(desk);
  await openPage(page, "Sessions");
  await page.getByText("Sessions are not kept").waitFor();
  await page.getByRole("button", { name: "Record requests" }).waitFor();
  await page.goto(`${desk.url}/console/#sessions?none`);
  await page.getByText("The session is not kept here").waitFor();
}

export const agentCases: readonly Case[] = [
  {
    name: "sessions: an agent's conversation is read turn by turn, and hostile content stays text",
    app: agentApp,
    run: read,
  },
  {
    name: "sessions: a gateway that keeps none says how to get them",
    app: () => newApp({ config: { ...RECORDED, console: {} }, now: Date.now }),
    run: explained,
  },
];
