/** The services as their own documents describe them, and what each of them refuses. They know nothing of the presets. */
import { asObject, asObjects, type JsonObject } from "../../../src/canonical/json.ts";

/** A part of a service that speaks one wire. */
export interface Endpoint {
  /** The URL below which the paths of the wire are. */
  base: string;
  /** The header that must carry the key. No other may. Absent: the server takes any or none. */
  credential?: "bearer" | "x-api-key" | "api-key";
  /** Whether it lists its models below the base. */
  lists?: "with the key" | "to anybody" | "never";
  /** Why it refuses a body. */
  refuses?(body: JsonObject): string | undefined;
  /** The names of models that exist. Any if absent. */
  model?: string;
}

const bearer = (base: string, more: Partial<Endpoint> = {}): Endpoint => ({ base, credential: "bearer", ...more });
const local = (base: string, more: Partial<Endpoint> = {}): Endpoint => ({ base, lists: "to anybody", ...more });

/** Refuses a field that its models do not have, in the usual words. */
function unsupported(...fields: string[]) {
  return (body: JsonObject) => {
    const found = fields.find((field) => field in body);
    return found && `Unsupported parameter: '${found}' is not supported with this model.`;
  };
}

const KNOWN = new Set(
  ("model messages stream stream_options max_completion_tokens max_tokens temperature top_p stop seed tools " +
    "tool_choice parallel_tool_calls response_format reasoning_effort user logprobs top_logprobs").split(" "),
);

const OPENAI = bearer("https://api.openai.com/v1", { refuses: unsupported("max_tokens") });

/** By provider and driver. */
export const SERVICES: Record<string, Record<string, Endpoint>> = {
  anthropic: { messages: { base: "https://api.anthropic.com/v1", credential: "x-api-key" } },
  openai: { chat: OPENAI, responses: bearer("https://api.openai.com/v1") },
  azure: {
    chat: { base: "https://mine.openai.azure.com/openai/v1", credential: "api-key" },
    responses: { base: "https://mine.openai.azure.com/openai/v1", credential: "api-key" },
    messages: { base: "https://mine.services.ai.azure.com/anthropic/v1", credential: "x-api-key", lists: "never" },
  },
  gemini: { chat: bearer("https://generativelanguage.googleapis.com/v1beta/openai") },
  vertex: {
    chat: bearer(
      "https://europe-west4-aiplatform.googleapis.com/v1/projects/mine/locations/europe-west4/endpoints/openapi",
      { lists: "never" },
    ),
  },
  bedrock: {
    chat: bearer("https://bedrock-mantle.eu-west-1.api.aws/v1"),
    messages: bearer("https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1", { lists: "never" }),
  },
  openrouter: {
    chat: bearer("https://openrouter.ai/api/v1", { lists: "to anybody" }),
    responses: bearer("https://openrouter.ai/api/v1", { lists: "to anybody" }),
    messages: bearer("https://openrouter.ai/api/v1", { lists: "to anybody" }),
  },
  groq: {
    chat: bearer("https://api.groq.com/openai/v1", {
      refuses: ({ messages }) =>
        asObjects(messages).some((message) => "reasoning_content" in message)
          ? "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property " +
            "'reasoning_content' is unsupported)]"
          : undefined,
    }),
    responses: bearer("https://api.groq.com/openai/v1"),
  },
  together: { chat: bearer("https://api.together.xyz/v1") },
  fireworks: {
    chat: bearer("https://api.fireworks.ai/inference/v1", { model: "accounts/fireworks/models/gpt-oss-120b" }),
    responses: bearer("https://api.fireworks.ai/inference/v1"),
  },
  cerebras: {
    chat: bearer("https://api.cerebras.ai/v1", {
      refuses(body) {
        const unknown = Object.keys(body).find((field) => !KNOWN.has(field));
        return unknown && `property '${unknown}' is unsupported`;
      },
    }),
  },
  deepseek: {
    chat: bearer("https://api.deepseek.com"),
    messages: { base: "https://api.deepseek.com/anthropic/v1", credential: "x-api-key", lists: "never" },
  },
  mistral: {
    chat: bearer("https://api.mistral.ai/v1", {
      refuses: ({ messages }) =>
        asObjects(messages).flatMap(({ tool_calls }) => asObjects(tool_calls))
            .some(({ id }) => !/^[A-Za-z0-9]{9}$/.test(String(id)))
          ? "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."
          : undefined,
    }),
  },
  moonshot: {
    chat: bearer("https://api.moonshot.ai/v1"),
    messages: bearer("https://api.moonshot.ai/anthropic/v1", { lists: "never" }),
  },
  zai: {
    chat: bearer("https://api.z.ai/api/paas/v4"),
    messages: bearer("https://api.z.ai/api/anthropic/v1", { lists: "never" }),
  },
  minimax: {
    chat: bearer("https://api.minimax.io/v1"),
    messages: bearer("https://api.minimax.io/anthropic/v1", { lists: "never" }),
  },
  dashscope: { chat: bearer("https://dashscope-intl.aliyuncs.com/compatible-mode/v1") },
  xai: {
    chat: bearer("https://api.x.ai/v1", { refuses: unsupported("stop", "presence_penalty", "frequency_penalty") }),
    responses: bearer("https://api.x.ai/v1"),
  },
  deepinfra: { chat: bearer("https://api.deepinfra.com/v1/openai", { lists: "to anybody" }) },
  novita: { chat: bearer("https://api.novita.ai/openai/v1", { lists: "to anybody" }) },
  nebius: { chat: bearer("https://api.tokenfactory.nebius.com/v1") },
  sambanova: { chat: bearer("https://api.sambanova.ai/v1", { lists: "to anybody" }) },
  ollama: { chat: local("http://127.0.0.1:11434/v1") },
  llamacpp: { chat: local("http://127.0.0.1:8080/v1") },
  lmstudio: { chat: local("http://127.0.0.1:1234/v1") },
  vllm: { chat: local("http://127.0.0.1:8000/v1") },
};

/** The path of each driver's conversations. */
const PATHS: Record<string, string> = { chat: "chat/completions", messages: "messages", responses: "responses" };

const json = (status: number, body: JsonObject) => Response.json(body, { status });
const refusal = (status: number, message: string) =>
  json(status, { type: "error", error: { type: "invalid_request_error", message, code: null, param: null } });

/** A service that answers "Served by NAME" to whoever calls it as its documents say. */
export function serve(name: string, driver: string, key: string) {
  const { base, credential, lists = "with the key", refuses, model } = SERVICES[name]![driver]!;
  const calls: { url: string; body: JsonObject }[] = [];
  const fetch = async (input: Request | URL | string, init?: RequestInit) => {
    const request = new Request(input, init);
    const path = request.url.startsWith(`${base}/`) ? request.url.slice(base.length + 1).split("?")[0]! : undefined;
    const text = await request.text();
    const body = text === "" ? {} : asObject(JSON.parse(text)) as JsonObject;
    calls.push({ url: request.url, body });
    if (new URL(request.url).origin !== new URL(base).origin) throw new TypeError("There is no such host");
    if (path === "models" && lists !== "never") {
      if (lists === "with the key" && !isAllowed(request.headers, credential, key)) return refusal(401, "Invalid key");
      return json(200, {
        object: "list",
        data: [{ id: "its-own-model", object: "model", created: 1, owned_by: name }],
      });
    }
    if (!isAllowed(request.headers, credential, key)) return refusal(401, "Invalid key");
    if (path !== PATHS[driver]) return refusal(404, `There is no ${request.url}`);
    if (driver === "messages" && request.headers.get("anthropic-version") !== "2023-06-01") {
      return refusal(400, "anthropic-version: header is required");
    }
    if (model !== undefined && body.model !== model) return refusal(404, `Model not found: ${body.model}`);
    const why = refuses?.(body);
    return why === undefined ? json(200, ANSWERS[driver]!(`Served by ${name}`)) : refusal(400, why);
  };
  return { fetch, calls };
}

/** Services with a key refuse a second credential as well. */
function isAllowed(headers: Headers, credential: Endpoint["credential"], key: string): boolean {
  if (credential === undefined) return true;
  const sent = ["authorization", "x-api-key", "api-key"].filter((name) => headers.has(name));
  const name = credential === "bearer" ? "authorization" : credential;
  return sent.join() === name && headers.get(name) === (credential === "bearer" ? `Bearer ${key}` : key);
}

const ANSWERS: Record<string, (text: string) => JsonObject> = {
  chat: (content) => ({
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
  messages: (text) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
  responses: (text) => ({
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
    output: [{
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }],
    }],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  }),
};
