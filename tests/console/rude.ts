/** A gateway whose keys, models, teams, clients, upstreams and conversations have the worst names and contents. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { CHAT, CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { OPS } from "./desk.ts";

export const MARKUP = `<img src=x onerror="window.isBroken=1"><script>window.isBroken=1</script>`;
export const LONG_WORD = "w".repeat(400);
export const RIGHT_TO_LEFT = "שלום עולם";
/** It would turn round the text that follows it. */
const TURNED = "\u202e";
const RUDE = `${MARKUP}${TURNED}${RIGHT_TO_LEFT}${LONG_WORD}`;

const MARKDOWN = `# ${MARKUP}

${RIGHT_TO_LEFT} [click](javascript:window.isBroken=1) [page](https://evil.test/${LONG_WORD})

![tracker](https://evil.test/pixel.png) ![inline](data:text/html,<script>window.isBroken=1</script>)
<img src="https://evil.test/pixel.png">

| ${LONG_WORD} | ${MARKUP.replaceAll("|", "")} |
| --- | --- |
| [x]: https://evil.test | ${RIGHT_TO_LEFT} |

\`\`\`${LONG_WORD}
${LONG_WORD} ${MARKUP}
\`\`\`

${"> ".repeat(60)}deep ${"- ".repeat(60)}deeper

${"**".repeat(500)}${"[".repeat(500)}
`;

const price = { input: 1, output: 1 };
const SHOWN: ConfigInput = {
  ...CONFIG,
  lanes: {
    oss: {
      models: {
        [RUDE]: { task: "chat", price, targets: [{ upstream: "fake", model: RUDE }] },
        ...CONFIG.lanes!.oss!.models,
      },
    },
  },
  usage: {},
  console: { record: {} },
  teams: { [RUDE]: { budget: { dollars: 50, period: "month" } } },
  keys: [
    { name: RUDE, secret: { env: "GUEST_KEY" }, team: RUDE, budget: { dollars: 50, period: "day" } },
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
  ],
};

export function rudelyServed(): { app: TestApp; fill(): Promise<void> } {
  const upstream = fakeUpstream(({ body }) => {
    const { messages } = JSON.parse(body) as { messages: JsonObject[] };
    if (body.includes("Fail")) return Response.json({ error: { message: RUDE, code: RUDE } }, { status: 400 });
    const message = messages.length > 1 ? { role: "assistant", content: MARKDOWN, reasoning_content: MARKDOWN } : {
      role: "assistant",
      content: RUDE,
      tool_calls: [{
        id: "call_1",
        type: "function",
        function: { name: "rude", arguments: JSON.stringify({ a: RUDE }) },
      }],
    };
    return Response.json({
      id: RUDE,
      object: "chat.completion",
      created: 1,
      model: RUDE,
      choices: [{ index: 0, message, finish_reason: messages.length > 1 ? "stop" : "tool_calls" }],
      usage: { prompt_tokens: 9_000, completion_tokens: 20 },
    });
  });
  const app = newApp({ config: SHOWN, now: Date.now, fetch: upstream.fetch });
  const fill = async () => {
    const tools = [{ name: "rude", description: RUDE, input_schema: { type: "object", properties: { [MARKUP]: {} } } }];
    const headers = { "x-api-key": ENV.GUEST_KEY!, "user-agent": MARKUP, "x-claude-code-session-id": MARKUP };
    const first = {
      role: "user",
      content: [{ type: "text", text: RUDE }, {
        type: "image",
        source: { type: "url", url: "https://evil.test/pixel.png" },
      }],
    };
    const called = {
      role: "assistant",
      content: [{ type: "tool_use", id: "call_1", name: "rude", input: { [MARKUP]: RUDE } }],
    };
    const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: RUDE }] };
    const huge = { role: "user", content: `${MARKUP} ${LONG_WORD} ${"ten megabytes ".repeat(750_000)}` };
    for (const messages of [[first], [first, called, result], [huge]]) {
      const body = { model: RUDE, max_tokens: 9, system: RUDE, tools, messages };
      const response = await app.post("/oss/v1/messages", body, headers);
      if (!response.ok) throw new Error(await response.text());
      await response.text();
    }
    for (const content of ["Fail", RUDE]) {
      const body = { model: RUDE, messages: [{ role: "user", content }] };
      await (await app.post(CHAT, body, { "x-api-key": OPS, "user-agent": MARKUP })).text();
    }
    await (await app.post(CHAT, { model: MARKUP, messages: [] }, { "x-api-key": OPS })).text();
  };
  return { app, fill };
}
