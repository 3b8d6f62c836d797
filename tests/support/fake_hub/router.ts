/** The router's list of chat models, its chat, and its ways to refuse. */
import type { JsonObject } from "../../../src/canonical/json.ts";
import { bodyOf } from "../chunks.ts";
import type { Asked } from "../fake_upstream.ts";
import { TOKEN } from "./asked.ts";

/** One provider of a model. Only these three fields are always there. */
export function provider(name: string, more: JsonObject = {}): JsonObject {
  return { provider: name, status: "live", is_model_author: false, ...more };
}

/** A model as the router lists it. */
export function listed(id: string, providers: JsonObject[] = [provider("novita")], more: JsonObject = {}): JsonObject {
  return {
    id,
    object: "model",
    created: 1_790_000_000,
    owned_by: id.split("/")[0]!,
    architecture: { input_modalities: ["text"], output_modalities: ["text"] },
    providers,
    ...more,
  };
}

/** The hub's list, small. */
export const MODELS: readonly JsonObject[] = [
  listed("zai-org/GLM-5.3", [
    provider("novita", { context_length: 1_000_000, pricing: { input: 0.6, output: 2.2 }, supports_tools: true }),
    provider("zai-org", { context_length: 202_752, is_model_author: true, supports_tools: true, throughput: 81.5 }),
    provider("together", { status: "error", context_length: 4_096, supports_tools: false }),
  ]),
  listed("moonshotai/Kimi-K3", [provider("novita", { context_length: 262_144, supports_tools: true })], {
    architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] },
  }),
  { id: "org/bare" },
];

/** How the router refuses: pages, texts and objects. */
export const REFUSALS = {
  noToken: () =>
    new Response("<!DOCTYPE html><html><body><h1>401 Unauthorized</h1></body></html>", {
      status: 401,
      headers: { "content-type": "text/html" },
    }),
  wrongToken: () => Response.json({ error: "Invalid username or password." }, { status: 401 }),
  noCredits: () =>
    Response.json({
      error: "You have depleted your monthly included credits. Purchase pre-paid credits to continue.",
    }, { status: 402 }),
  unknownModel: (model: string) =>
    Response.json({
      error: {
        message: `The requested model '${model}' is not supported by any provider you have enabled.`,
        type: "invalid_request_error",
        param: "model",
        code: "model_not_supported",
      },
    }, { status: 400 }),
  /** A model of the hub that no provider serves as one that chats. */
  notChat: (model: string) =>
    Response.json({
      error: {
        message: `The requested model '${model}' is not a chat model.`,
        type: "invalid_request_error",
        param: "model",
        code: "model_not_supported",
      },
    }, { status: 400 }),
  unknownField: (field: string) =>
    Response.json({
      message: `property '${field}' is unsupported`,
      type: "invalid_request_error",
      param: field,
      code: "wrong_api_format",
    }, { status: 400 }),
  tooMany: () =>
    new Response(JSON.stringify({ error: "Too Many Requests" }), {
      status: 429,
      headers: { "content-type": "application/json", "retry-after": "7", "ratelimit": '"api";r=0;t=7' },
    }),
} as const;

/** Fields that a strict host behind the router answers with an error. */
const STRICT_FIELDS = ["store", "metadata", "user", "service_tier", "parallel_tool_calls", "prompt_cache_key"];
const POLICIES = ["fastest", "cheapest", "preferred"];

/** The refusal for a caller without the right token. */
export function refuseCredential(headers: Headers): Response | undefined {
  const credential = headers.get("authorization");
  if (credential === null) return REFUSALS.noToken();
  return credential === `Bearer ${TOKEN}` ? undefined : REFUSALS.wrongToken();
}

/** The refusal for a chat that no provider takes, or that a strict provider does not take. */
export function refuseChat(body: JsonObject, models: unknown): Response | undefined {
  const [id, policy] = String(body.model).split(":");
  const entry = Array.isArray(models) ? models.find((model) => model?.id === id) : undefined;
  const providers: JsonObject[] = entry?.providers ?? [];
  const isPolicy = policy === undefined || POLICIES.includes(policy) ||
    providers.some(({ provider }) => provider === policy);
  if (Array.isArray(models) && (!entry || !isPolicy)) return REFUSALS.unknownModel(String(body.model));
  const field = STRICT_FIELDS.find((name) => name in body);
  return field === undefined ? undefined : REFUSALS.unknownField(field);
}

/** An answer in the router's shapes: it thinks, says who served, and sends its usage last. */
export function answerChat({ body }: Asked): Response {
  const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
  const common = { id: "chatcmpl-1", created: 1_790_000_001, model: model.split(":")[0]! };
  const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
  const headers = { "x-inference-provider": model.split(":")[1] ?? "novita" };
  if (!stream) {
    const message = { role: "assistant", content: "Hello there", reasoning: "A greeting." };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return Response.json({ ...common, object: "chat.completion", choices, usage }, { headers });
  }
  const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
    ...common,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks: JsonObject[] = [
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning: "A greeting." }),
    chunk({ content: "Hello" }),
    chunk({ content: " there" }),
    chunk({}, "stop"),
    { ...common, object: "chat.completion.chunk", choices: [], usage },
  ];
  const frames = chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`);
  const text = [": keep-alive\n\n", ...frames, "data: [DONE]\n\n"].join("");
  return new Response(bodyOf([new TextEncoder().encode(text)]), {
    headers: { ...headers, "content-type": "text/event-stream" },
  });
}
