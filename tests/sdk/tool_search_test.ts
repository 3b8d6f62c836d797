/** Searches for tools as the vendors' own clients ask for them. */
import { assert, assertEquals } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { type HostedRig, newHostedRig, type Say } from "../support/hosted_rig.ts";

const SCHEMA = {
  type: "object" as const,
  properties: Object.fromEntries(
    ["owner", "repository", "branch", "path", "message", "limit"].map((name) => [name, {
      type: "string",
      description: `The ${name} that the call is about, as the service writes it. Look it up first if it is not known.`,
    }]),
  ),
  required: ["owner"],
};

/** What a session of Claude Code with 12 servers of 25 tools offers, beside its own tools. */
const SERVERS = [
  "github",
  "jira",
  "slack",
  "linear",
  "notion",
  "sentry",
  "figma",
  "stripe",
  "asana",
  "drive",
  "mail",
  "crm",
];
const DEFERRED = SERVERS.flatMap((server) =>
  Array.from({ length: 25 }, (_, at) => ({
    name: `mcp__${server}__${["list", "get", "create", "update", "delete"][at % 5]}_${
      "item page task user file".split(" ")[at / 5 | 0]
    }`,
    description: `Works with ${server}. `.repeat(20),
    input_schema: SCHEMA,
    defer_loading: true,
  }))
);
const OWN = ["Bash", "Read", "Edit", "Write", "Grep", "Glob", "Task"].map((name) => ({
  name,
  description: `${name} does what its name says, with care. `.repeat(60),
  input_schema: SCHEMA,
}));

const REGEX = { type: "tool_search_tool_regex_20251119" as const, name: "tool_search_tool_regex" as const };

function clientsOf({ app }: HostedRig) {
  const fetchApp = (input: string | URL | Request, init?: RequestInit) => app.fetch(new Request(input, init));
  return {
    anthropic: new Anthropic({ baseURL: "http://gateway/oss", apiKey: "x", maxRetries: 0, fetch: fetchApp }),
    openai: new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey: "x", maxRetries: 0, fetch: fetchApp }),
  };
}

const toolTokens = ({ tools }: JsonObject) => estimateTextTokens(JSON.stringify(tools));

const ROUNDS: Say[][] = [
  ['tool_search{"pattern":"(?i)jira.*create"}'],
  ['mcp__jira__create_task{"owner":"me"}'],
  ["Created"],
];

for (const stream of [false, true]) {
  const way = stream ? "streamed" : "whole";

  Deno.test(`tool search: 300 tools of an agent stay under 20,000 tokens, ${way}`, async () => {
    const rig = newHostedRig({ rounds: ROUNDS });
    const { anthropic } = clientsOf(rig);
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Create a task" }];
    const ask = async () => {
      const body = { model: "model", max_tokens: 500, messages, tools: [REGEX, ...OWN, ...DEFERRED] };
      const answer = stream
        ? await anthropic.messages.stream(body).finalMessage()
        : await anthropic.messages.create(body);
      messages.push({ role: "assistant", content: answer.content as Anthropic.ContentBlockParam[] });
      return answer;
    };
    const first = await ask();
    assertEquals(first.content.map(({ type }) => type), ["server_tool_use", "tool_search_tool_result", "tool_use"]);
    const use = first.content.at(-1) as Anthropic.ToolUseBlock;
    assertEquals([use.name, first.stop_reason], ["mcp__jira__create_task", "tool_use"]);
    messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "ok" }] });
    assertEquals((await ask()).content.at(-1), { type: "text", text: "Created" } as never);
    assertEquals(rig.asked.length, 3);
    assert(estimateTextTokens(JSON.stringify([...OWN, ...DEFERRED])) > 100_000);
    for (const { body } of rig.asked) assert(toolTokens(body) < 20_000, `${toolTokens(body)} tokens of tools`);
    const usage = rig.app.logs.map(({ usage }) => usage?.inputTokens);
    assertEquals(usage, [20, 10]);
  });

  Deno.test(`tool search: the client of the responses API reads both items, ${way}`, async () => {
    const rig = newHostedRig({ rounds: [['tool_search{"query":"create a jira task"}'], ["Found"]] });
    const { openai } = clientsOf(rig);
    const tools = [
      { type: "tool_search" },
      ...DEFERRED.map(({ input_schema: parameters, ...rest }) => ({ type: "function", ...rest, parameters })),
    ];
    const body = { model: "model", input: "Create a task", tools } as unknown as OpenAI.Responses.ResponseCreateParams;
    const answer = stream
      ? await openai.responses.stream(body as never).finalResponse()
      : await openai.responses.create({ ...body, stream: false });
    assertEquals(answer.output.map((item) => item.type), ["tool_search_call", "tool_search_output", "message"]);
    const output = answer.output[1] as OpenAI.Responses.ResponseToolSearchOutputItem;
    assert(output.tools.length === 5 && output.tools.every((tool) => "defer_loading" in tool && tool.defer_loading));
    assertEquals(answer.output_text, "Found");
    assertEquals(rig.asked.every(({ body }) => toolTokens(body) < 20_000), true);
  });
}

Deno.test("tool search: a count is of the tools that the model sees", async () => {
  const { anthropic } = clientsOf(newHostedRig({ rounds: [] }));
  const { input_tokens } = await anthropic.messages.countTokens({
    model: "model",
    messages: [{ role: "user", content: "Create a task" }],
    tools: [REGEX, ...OWN, ...DEFERRED],
  });
  assert(input_tokens < 20_000, String(input_tokens));
});

const VENDORS = {
  upstreams: {
    messages: { driver: "messages", baseUrl: "http://first.test/v1" },
    responses: { driver: "responses", baseUrl: "http://second.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        claude: { task: "chat", targets: [{ upstream: "messages", model: "claude-sonnet-4-6" }] },
        gpt: { task: "chat", targets: [{ upstream: "responses", model: "gpt-5.2" }] },
      },
    },
  },
} satisfies ConfigInput;

Deno.test("tool search: the vendors' own models get the search and the deferred tools, and search themselves", async () => {
  const text = { type: "text", text: "Hi" };
  const use = { type: "server_tool_use", id: "srvtoolu_1", name: REGEX.name, input: { pattern: "x" } };
  const found = {
    type: "tool_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: {
      type: "tool_search_tool_search_result",
      tool_references: [{ type: "tool_reference", tool_name: DEFERRED[0]!.name }],
    },
  };
  const message = {
    type: "message",
    role: "assistant",
    model: "m",
    content: [use, found, text],
    stop_reason: "end_turn",
  };
  const rig = newHostedRig({ rounds: [Response.json(message)], config: VENDORS });
  const tools = [REGEX, OWN[0]!, ...DEFERRED.slice(0, 2)];
  const { anthropic } = clientsOf(rig);
  const answer = await anthropic.messages.create({
    model: "claude",
    max_tokens: 9,
    messages: [{ role: "user", content: "Hi" }],
    tools,
  });
  assertEquals(rig.asked[0]!.body.tools, tools as never);
  assertEquals(answer.content, [use, found, text] as never);

  const item = {
    type: "tool_search_call",
    id: "tsc_1",
    call_id: null,
    execution: "server",
    arguments: {},
    status: "completed",
  };
  const response = { id: "r", object: "response", status: "completed", model: "m", output: [item] };
  const second = newHostedRig({ rounds: [Response.json(response)], config: VENDORS });
  const asked = [{ type: "tool_search" }, { type: "function", name: "look", parameters: {}, defer_loading: true }];
  const own = await clientsOf(second).openai.responses.create({ model: "gpt", input: "Hi", tools: asked } as never);
  assertEquals((second.asked[0]!.body.tools as JsonObject[]).map(({ type }) => type), ["tool_search", "function"]);
  assertEquals((second.asked[0]!.body.tools as JsonObject[])[1]!.defer_loading, true);
  assertEquals((own as OpenAI.Responses.Response).output.map(({ type }) => type), ["tool_search_call"]);
});
