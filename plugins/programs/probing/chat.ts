/** How a server does what agents need on the chat wire, and how Laneway is to treat it. */
import { asObject, isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import type { ProbeCall, ProbeFinding, ProbeReply } from "../../../src/contract/probing.ts";
import {
  callsOf,
  errorOf,
  eventsOf,
  hasThought,
  isCutShort,
  messageOf,
  messageText,
  reasoningFieldOf,
} from "./answers.ts";

const PATH = "chat/completions";
/** How long an answer may be from which something is to be seen: a model may think first. */
const ROOM = 600;

type Question = (ask: ProbeCall, model: string) => Promise<ProbeFinding>;

const said = (content: string) => [{ role: "user", content }];

const streaming: Question = async (ask, model) => {
  const stream_options = { include_usage: true };
  const reply = await ask(PATH, { model, max_tokens: 8, stream: true, stream_options, messages: said("Say: pong") });
  const events = eventsOf(reply);
  if (reply.status !== 200 || events.length === 0) return { property: "streaming", value: refusedBy(reply) };
  const hasUsage = events.some(({ usage }) => isJsonObject(usage));
  const isEnded = /^data: ?\[DONE\]/m.test(reply.text);
  const parts = [
    `${events.length} events, the first after ${Math.round(reply.firstByteMs)} ms`,
    hasUsage ? "with usage" : "without usage: the gateway estimates it",
    ...isEnded ? [] : ["without [DONE]"],
  ];
  return { property: "streaming", value: parts.join(", ") };
};

/** Longer than that until a short answer begins: a long prompt may take many times as long. */
const SLOW_MS = 20_000;

const timeOuts: Question = async (ask, model) => {
  const property = "time-outs";
  const { status, text, firstByteMs, longestPauseMs } = await ask(PATH, {
    model,
    max_tokens: 64,
    stream: true,
    messages: said("Count from one to twenty, in words."),
  });
  if (status !== 200) return { property, value: "unknown: the server did not stream" };
  const [first, pause] = [firstByteMs, longestPauseMs].map((ms) => `${Math.round(ms)} ms`);
  const comments = /^:/m.test(text) ? "; comments while it waits" : "";
  const value = `first event after ${first}, longest pause ${pause}${comments}`;
  if (firstByteMs < SLOW_MS) return { property, value };
  const because = "a short prompt took long, and a longer one takes longer";
  return { property, value, settings: { timeouts: { value: { headMs: 600_000, firstEventMs: 600_000 }, because } } };
};

const usage: Question = async (ask, model) => {
  const { body } = await ask(PATH, { model, max_tokens: 1, messages: said("ping") });
  const found = isJsonObject(body) && isJsonObject(body.usage) ? body.usage : undefined;
  if (!found) return { property: "usage", value: "none: the gateway estimates it" };
  const details = asObject(found.prompt_tokens_details);
  const cached = typeof details.cached_tokens === "number" ? ", cached tokens too" : "";
  return { property: "usage", value: `prompt and completion tokens${cached}` };
};

const TOOLS = ["get_time", "get_weather"].map((name) => ({
  type: "function",
  function: { name, description: `Tells the ${name.slice(4)} now`, parameters: { type: "object", properties: {} } },
}));
const WANTS_TOOLS = "What time is it, and how is the weather? Call both tools, get_time and get_weather, at once.";

const tools: Question = async (ask, model) => {
  const body = { model, max_tokens: ROOM, tools: TOOLS, messages: said(WANTS_TOOLS) };
  const reply = await ask(PATH, body);
  if (reply.status !== 200) return { property: "tools", value: refusedBy(reply), settings: toolsRefused(reply) };
  const message = messageOf(reply);
  const calls = callsOf(message);
  if (calls.length > 1) return { property: "tools", value: `called, ${calls.length} in one answer` };
  if (calls.length === 1) return { property: "tools", value: "called, one per answer in this test" };
  if (/<tool_call>|<function=|\[TOOL_CALLS\]|"name": ?"get_/.test(messageText(message))) {
    const because = "the model writes tool calls into its text, and the server does not parse them";
    return {
      property: "tools",
      value: "calls are in the text",
      settings: { textForms: { value: "parse", because } },
    };
  }
  return { property: "tools", value: "accepted; the model called none" };
};

/** Servers that are started without tools say so. */
function toolsRefused(reply: ProbeReply): ProbeFinding["settings"] {
  return /tools?\b/.test(errorOf(reply)) && reply.status < 500
    ? { refuses: { value: ["tools", "tool_choice", "parallel_tool_calls"], because: "it refuses requests with tools" } }
    : undefined;
}

/** What switches thinking off, by the dialect that says so; the first that works. */
const SWITCHES: readonly { dialect: string; fields: JsonObject }[] = [
  { dialect: "template", fields: { chat_template_kwargs: { enable_thinking: false, thinking: false } } },
  { dialect: "reasoning", fields: { reasoning: { enabled: false } } },
  { dialect: "thinking", fields: { thinking: { type: "disabled" } } },
  { dialect: "enable-thinking", fields: { enable_thinking: false } },
  { dialect: "template-args", fields: { chat_template_args: { enable_thinking: false } } },
];

const reasoning: Question = async (ask, model) => {
  const body = { model, max_tokens: ROOM, messages: said("What is 17 + 25? Think first.") };
  const message = messageOf(await ask(PATH, body));
  if (!hasThought(message)) return { property: "reasoning", value: "the model did not think" };
  const field = reasoningFieldOf(message);
  const settings: Record<string, { value: JsonValue; because: string }> = field
    ? {
      reasoningField: { value: field, because: "it sends reasoning in this field, and reads it there in later turns" },
    }
    : { textForms: { value: "parse", because: "the model writes its reasoning into its text" } };
  for (const { dialect, fields } of SWITCHES) {
    const quiet = messageOf(await ask(PATH, { ...body, ...fields }));
    if (!quiet || hasThought(quiet)) continue;
    settings.dialect = { value: dialect, because: `${Object.keys(fields)[0]} switches thinking off` };
    break;
  }
  const off = settings.dialect ? `off by ${settings.dialect.because.split(" ")[0]}` : "no field switches it off";
  return { property: "reasoning", value: `in ${field ?? "the text"}; ${off}`, settings };
};

const SHAPE = {
  type: "object",
  properties: { sum_of_both: { type: "integer" }, is_even: { type: "boolean" } },
  required: ["sum_of_both", "is_even"],
  additionalProperties: false,
};

/** The schema's names stand nowhere in the prompt: only who reads the field can know them. */
const structuredOutput: Question = async (ask, model) => {
  const property = "structured output";
  const plain = { model, max_tokens: ROOM, messages: said("What is 2 + 3?") };
  const response_format = { type: "json_schema", json_schema: { name: "answer", strict: true, schema: SHAPE } };
  const body = { ...plain, response_format };
  const reply = await ask(PATH, body);
  const text = messageText(messageOf(reply));
  if (hasShape(text)) return { property, value: "follows a JSON schema" };
  if (reply.status === 200 && (text === "" || isCutShort(reply))) {
    // Thoughts are held to no schema, and some servers take all of an answer for thoughts.
    const isFollowed = hasShape(messageText(messageOf(await ask(PATH, { ...body, ...SWITCHES[0]!.fields }))));
    const value = isFollowed
      ? "follows a JSON schema while the model does not think"
      : "unknown: the model spent all its tokens on thinking";
    return { property, value };
  }
  if (reply.status !== 200 && !await isRefusal(ask, reply, { body, plain })) {
    return { property, value: refusedBy(reply) };
  }
  const because = "it does not enforce the schema: the gateway asks for JSON in the prompt, and checks the answer";
  return {
    property,
    value: reply.status === 200 ? "ignores the schema" : refusedBy(reply),
    settings: { structuredOutput: { value: "instruct", because } },
  };
};

/** Whether the server refuses what `body` has and `plain` has not. Some answer so with 500, as they do in trouble. */
async function isRefusal(
  ask: ProbeCall,
  { status }: ProbeReply,
  { body, plain }: { body: JsonObject; plain: JsonObject },
): Promise<boolean> {
  if ([400, 404, 415, 422, 501].includes(status)) return true;
  if (status < 500) return false;
  return (await ask(PATH, body)).status === status && (await ask(PATH, plain)).status === 200;
}

function hasShape(text: string): boolean {
  try {
    const { sum_of_both, is_even } = JSON.parse(text);
    return Number.isInteger(sum_of_both) && typeof is_even === "boolean";
  } catch {
    return false;
  }
}

const systemMessages: Question = async (ask, model) => {
  const property = "system messages";
  const [system, user] = [{ role: "system", content: "Be brief." }, { role: "user", content: "ping" }];
  const first = await ask(PATH, { model, max_tokens: 1, messages: [system, user] });
  if (first.status !== 200) return { property, value: `none: ${refusedBy(first)}` };
  const messages = [user, { role: "assistant", content: "pong" }, system, user];
  const later = await ask(PATH, { model, max_tokens: 1, messages });
  if (later.status !== 200) return { property, value: "at the beginning only" };
  const because = "its chat template accepts them after other turns";
  return { property, value: "anywhere", settings: { systemMessages: { value: "anywhere", because } } };
};

const COUNTERS: readonly { counter: string; path: string; field: string }[] = [
  { counter: "input_tokens", path: "chat/completions/input_tokens", field: "input_tokens" },
  { counter: "tokenize", path: "../tokenize", field: "count" },
  { counter: "chat_tokenize", path: "../chat_tokenize", field: "tokenize_response" },
];

const counting: Question = async (ask, model) => {
  for (const { counter, path, field } of COUNTERS) {
    const { status, body } = await ask(path, { model, messages: said("ping"), add_generation_prompt: true });
    const count = isJsonObject(body) ? body[field] : undefined;
    if (status !== 200 || !(Number(count) > 0 || Array.isArray(count))) continue;
    const because = "it counts a request's tokens with the model's own tokenizer";
    return {
      property: "counting",
      value: `by ${path.replace("../", "/")}`,
      settings: { counter: { value: counter, because } },
    };
  }
  return { property: "counting", value: "none: the gateway counts" };
};

const cacheHints: Question = async (ask, model) => {
  const content = [{ type: "text", text: "ping", cache_control: { type: "ephemeral" } }];
  const { status } = await ask(PATH, { model, max_tokens: 1, messages: [{ role: "user", content }] });
  return {
    property: "cache hints",
    value: status === 200
      ? "accepted; whether the server uses them is unknown"
      : "refused: the gateway leaves them out",
  };
};

/** Fields that clients send often, and that a server may refuse. */
const OFTEN_SENT: JsonObject = {
  max_completion_tokens: 1,
  parallel_tool_calls: true,
  reasoning_effort: "low",
  seed: 1,
  stop: ["\u0000"],
  frequency_penalty: 0,
  presence_penalty: 0,
  logit_bias: {},
  user: "probe",
  metadata: { probe: "1" },
  store: false,
  prompt_cache_key: "probe",
};

const fields: Question = async (ask, model) => {
  const refused: string[] = [];
  for (const [name, value] of Object.entries(OFTEN_SENT)) {
    const limit = name === "max_completion_tokens" ? {} : { max_tokens: 1 };
    const needed = name === "parallel_tool_calls" ? { tools: TOOLS } : {};
    const plain = { model, messages: said("ping"), ...limit, ...needed };
    const body = { ...plain, [name]: value };
    const reply = await ask(PATH, body);
    if (reply.status !== 200 && await isRefusal(ask, reply, { body, plain })) refused.push(name);
  }
  if (refused.length === 0) {
    return { property: "fields", value: `accepts all ${Object.keys(OFTEN_SENT).length} that were tried` };
  }
  const because = "it refuses requests that have them";
  return {
    property: "fields",
    value: `refuses ${refused.join(", ")}`,
    settings: { refuses: { value: refused, because } },
  };
};

function refusedBy(reply: ProbeReply): string {
  return reply.status === 200
    ? "the answer is not in the format of this wire"
    : `refused with ${reply.status}: ${errorOf(reply)}`;
}

/** In the order of the report. */
export const chatQuestions: readonly Question[] = [
  streaming,
  timeOuts,
  usage,
  tools,
  reasoning,
  structuredOutput,
  systemMessages,
  counting,
  cacheHints,
  fields,
];
