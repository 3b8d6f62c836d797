/**
 * Pictures that a model of conversations wants drawn. Another model draws them, in a request of its own on behalf of the
 * same caller, so that its keys' limits, budgets, stages and log hold for it as for any other.
 */
import type { GenerateRequest, Message } from "../canonical/generate.ts";
import type { DrawWork, HostedCall, HostedResult } from "../canonical/hosted.ts";
import { asObject, asObjects, asText, type JsonObject } from "../canonical/json.ts";
import { PICTURE_FORMATS, PICTURE_TYPES } from "../canonical/draw.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";

type DrawCall = Extract<HostedCall, { kind: "image" }>;

/** Draws one picture. A failure is a result. It throws only if `signal` is aborted. */
export async function drawFor(
  call: DrawCall,
  work: DrawWork,
  asked: GenerateRequest,
  context: RequestContext,
  signal: AbortSignal,
): Promise<HostedResult> {
  const { gateway, requestLog } = context;
  const end = requestLog.trace?.tool(call.kind);
  requestLog.capture?.event("hosted tool", call.kind);
  const result = await draw(call, work, asked, context, signal).catch((thrown): HostedResult => {
    signal.throwIfAborted();
    requestLog.explain(thrown);
    return { kind: "error", code: "unavailable" };
  });
  const error = result.kind === "error" ? result.code : undefined;
  gateway.observe.meter?.count({ type: "hosted call", tool: call.kind, error });
  requestLog.capture?.event("hosted tool ended", call.kind, error);
  end?.(error);
  return result;
}

async function draw(
  { prompt, isEdit }: DrawCall,
  { settings }: DrawWork,
  { messages }: GenerateRequest,
  { gateway, caller, peer, requestLog }: RequestContext,
  signal: AbortSignal,
): Promise<HostedResult> {
  const place = gateway.hosted.drawer;
  if (!place) return { kind: "error", code: "unavailable" };
  const picture = isEdit ? latestPicture(messages) : undefined;
  if (isEdit && !picture) {
    return { kind: "error", code: "invalid_input", message: "The conversation has no picture to change." };
  }
  const lane = place.lane ?? requestLog.entry.lane;
  const { mask, ...drawn } = settings;
  const body = {
    ...drawn,
    ...(picture && mask !== undefined && { mask }),
    model: place.model,
    prompt,
    ...(picture && { images: [{ image_url: picture }] }),
  };
  const request = new Request(`http://localhost/${lane}/v1/images/${picture ? "edits" : "generations"}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  const response = await gateway.answer(request, peer, gateway, caller);
  const answer: unknown = await response.json();
  signal.throwIfAborted();
  return response.ok ? pictureIn(asObject(answer)) : failureIn(response.status, asObject(answer));
}

function pictureIn(answer: JsonObject): HostedResult {
  const [entry] = asObjects(answer.data);
  const base64 = asText(entry?.b64_json);
  if (base64 === "") throw new GatewayError("upstream_error", "The picture has no contents");
  const format = PICTURE_FORMATS.find((one) => one === answer.output_format) ?? "png";
  const facts = Object.fromEntries(
    Object.entries(answer).filter(([name]) => ["size", "quality", "background", "output_format"].includes(name)),
  );
  const revisedPrompt = asText(entry?.revised_prompt);
  return {
    kind: "picture",
    base64,
    mediaType: PICTURE_TYPES[format],
    facts,
    ...(revisedPrompt !== "" && { revisedPrompt }),
  };
}

/** The model learns what it can act on: limits, and what the other model says of the request. */
function failureIn(status: number, { error }: JsonObject): HostedResult {
  const message = asText(asObject(error).message);
  if (status === 429) return { kind: "error", code: "too_many_requests" };
  if (status !== 400) throw new GatewayError("upstream_error", `No picture was drawn: ${status} ${message}`);
  return { kind: "error", code: "invalid_input", message: `No picture was drawn: ${message}` };
}

/** The latest picture of the conversation, as an address: one that was drawn, or one that the user sent. */
function latestPicture(messages: readonly Message[]): string | undefined {
  for (const { content } of messages.toReversed()) {
    for (const part of content.toReversed()) {
      if (part.type === "hosted" && part.result?.kind === "picture") {
        return `data:${part.result.mediaType};base64,${part.result.base64}`;
      }
      if (part.type !== "file" || !part.mediaType.startsWith("image/")) continue;
      if (part.source.type === "url") return part.source.url;
      if (part.source.type === "base64") return `data:${part.mediaType};base64,${part.source.data}`;
    }
  }
  return undefined;
}
