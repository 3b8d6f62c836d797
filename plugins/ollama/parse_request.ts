import { type Extra, extraField, extraOf, inside } from "../../src/canonical/extra.ts";
import type {
  FilePart,
  FunctionTool,
  GenerateRequest,
  Message,
  OutputPart,
  OutputSchema,
  TextPart,
  Thinking,
  ToolCallPart,
} from "../../src/canonical/generate.ts";
import { copyRenamed, type JsonObject, present, toJsonText } from "../../src/canonical/json.ts";
import { sniffMedia } from "../../src/canonical/media.ts";
import type { WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { CallPairs } from "../shared/call_pairs.ts";
import { OLLAMA_SAMPLING } from "../shared/sampling.ts";
import {
  MESSAGE_KEYS,
  type OllamaMessage,
  type OllamaRequest,
  type OllamaTool,
  OPTION_KEYS,
  REQUEST_KEYS,
  requestSchema,
  showSchema,
  type ToolCall,
  WIRE,
} from "./wire.ts";

/** A client's chat request. */
export function parseRequest(wire: WireRequest): GenerateRequest {
  const body = validate(requestSchema, wire.body);
  refuseUnserved(body);
  const { options, tools } = body;
  const outputSchema = parseFormat(body.format);
  const thinking = parseThink(body.think);
  const extra = parseExtra(body);
  const stop = options?.stop;
  return {
    model: body.model,
    messages: new Conversation().parse(body.messages ?? []),
    stream: body.stream ?? true,
    ...(tools && tools.length > 0 && { tools: tools.map(parseTool) }),
    ...(thinking && { thinking }),
    ...(options?.num_predict && options.num_predict > 0 && { maxOutputTokens: options.num_predict }),
    ...(options && copyRenamed(options, OLLAMA_SAMPLING.parsed)),
    ...(stop !== null && stop !== undefined && { stopSequences: typeof stop === "string" ? [stop] : stop }),
    ...(outputSchema && { outputSchema }),
    ...(extra && { extra }),
  };
}

/** The model whose details a client requests. */
export function parseShow({ body }: WireRequest): { model: string; gaps: true } {
  const asked = validate(showSchema, body);
  return { model: String(asked.model ?? asked.name), gaps: true };
}

/** Refuses requests that make no sense behind a gateway, or that it cannot honour in its answer. */
function refuseUnserved({ messages, logprobs }: OllamaRequest): void {
  if (!messages || messages.length === 0) {
    const message = "The gateway does not load or unload models: send at least one message";
    throw new GatewayError("invalid_request", message, { param: "messages" });
  }
  if (logprobs) {
    throw new GatewayError("invalid_request", "This endpoint does not support logprobs", { param: "logprobs" });
  }
}

function parseFormat(format: OllamaRequest["format"]): OutputSchema | undefined {
  if (!format) return undefined;
  return typeof format === "string" ? {} : { schema: format };
}

function parseThink(think: OllamaRequest["think"]): Thinking | undefined {
  if (think === null || think === undefined) return undefined;
  if (typeof think === "string") return { effort: think };
  return think ? { enabled: true, effort: "medium" } : { enabled: false };
}

/** Leaves out fields that ask for what the gateway does anyway: it neither truncates a conversation nor returns probabilities. */
function parseExtra(body: OllamaRequest): Extra | undefined {
  const outer = extraOf(WIRE, body, REQUEST_KEYS)?.fields ?? {};
  const asked = Object.entries(outer).filter(([key, value]) =>
    value !== false || !["truncate", "shift", "logprobs"].includes(key)
  );
  const fields = {
    ...Object.fromEntries(asked),
    ...inside("options", body.options ? extraOf(WIRE, body.options, OPTION_KEYS) : undefined),
  };
  return Object.keys(fields).length > 0 ? { wire: WIRE, fields } : undefined;
}

function parseTool({ function: definition, ...rest }: OllamaTool): FunctionTool {
  const { name, description, parameters } = definition;
  const fields = {
    ...extraOf(WIRE, rest, ["type"])?.fields,
    ...inside("function", extraOf(WIRE, definition, ["name", "description", "parameters"])),
  };
  return {
    type: "function",
    name,
    ...present("description", description),
    ...present("parameters", parameters),
    ...(Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } }),
  };
}

/** Reads the turns in order, because a result without a call id belongs to the first open call. */
class Conversation {
  readonly #pairs = new CallPairs();

  parse(messages: readonly OllamaMessage[]): Message[] {
    return messages.map((message) => this.#message(message));
  }

  #message(message: OllamaMessage): Message {
    const { role, content, images, thinking, tool_calls, tool_name, tool_call_id } = message;
    const said = [...content ? [{ type: "text" as const, text: content }] : [], ...(images ?? []).map(parseImage)];
    const extra = extraField(WIRE, message, keysOf(message));
    if (role !== "assistant") this.#pairs.endTurn();
    switch (role) {
      case "system":
      case "user":
        return { role, content: said, ...extra };
      case "assistant": {
        const parts: OutputPart[] = [...said, ...(tool_calls ?? []).map((call) => this.#call(call))];
        if (thinking) parts.unshift({ type: "reasoning", text: thinking });
        return { role, content: parts, ...extra };
      }
      case "tool":
        return {
          role,
          content: [{
            type: "tool-result",
            id: this.#pairs.answered(tool_call_id, tool_name),
            content: said,
            ...extra,
          }],
        };
      default:
        return role satisfies never;
    }
  }

  #call({ id, function: called, ...rest }: ToolCall): ToolCallPart {
    const { name, arguments: input } = called;
    const call = { id: this.#pairs.add(id, name), name };
    const fields: JsonObject = {
      ...extraOf(WIRE, rest, ["type"])?.fields,
      ...inside("function", extraOf(WIRE, called, ["name", "arguments", "index"])),
    };
    const extra = Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } };
    return { type: "tool-call", kind: "function", ...call, input: toJsonText(input), ...extra };
  }
}

/** The fields that are read from a turn. A field of another role is not part of the conversation, and is noted. */
function keysOf({ role }: OllamaMessage): ReadonlySet<string> {
  const foreign = new Set([
    ...role === "assistant" ? [] : ["thinking", "tool_calls"],
    ...role === "tool" ? [] : ["tool_name", "tool_call_id"],
  ]);
  return MESSAGE_KEYS.difference(foreign);
}

/** How much of an image shows its format, in characters of base64. */
const HEAD = 64;

/** Parses an image, whose format is not stated. Some clients send a data URL although the wire does not have them. */
function parseImage(image: string): FilePart | TextPart {
  const [, declared, rest] = /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s.exec(image) ?? [];
  const data = rest ?? image;
  const mediaType = declared ?? sniffMedia(bytesOf(data.slice(0, HEAD))) ?? "image/*";
  return { type: "file", mediaType, source: { type: "base64", data } };
}

function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
