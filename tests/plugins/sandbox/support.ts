import type { SpeechRequest } from "../../../src/canonical/audio.ts";
import type {
  CustomTool,
  FunctionTool,
  GenerateRequest,
  GenerateResponse,
  Message,
  OutputPart,
  ToolCallPart,
} from "../../../src/canonical/generate.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import type { Target } from "../../../src/contract/driver.ts";
import { generate } from "../../../plugins/sandbox/generate.ts";
import { speak } from "../../../plugins/sandbox/speak.ts";
import { newContext } from "../../support/context.ts";

/** The sandbox's answer to a request with these fields, to "Hello" where they hold no messages. */
export function ask(request: Partial<GenerateRequest> = {}): GenerateResponse {
  return generate({ model: "demo", messages: [user("Hello")], stream: false, ...request }, { model: "sandbox" });
}

export function user(...texts: string[]): Message {
  return { role: "user", content: texts.map((text) => ({ type: "text", text })) };
}

export function system(text: string): Message {
  return { role: "system", content: [{ type: "text", text }] };
}

export function assistant(...calls: [id: string, name: string][]): Message {
  return {
    role: "assistant",
    content: calls.map(([id, name]) => ({ type: "tool-call", kind: "function", id, name, input: "{}" })),
  };
}

export function result(id: string, text: string, isError = false): Message {
  return { role: "tool", content: [{ type: "tool-result", id, content: [{ type: "text", text }], isError }] };
}

/** A function whose properties are all required strings, unless a schema says otherwise. */
export function tool(name: string, properties: string[] | JsonObject = []): FunctionTool {
  const schemas = Array.isArray(properties)
    ? Object.fromEntries(properties.map((property) => [property, { type: "string" }]))
    : properties;
  return {
    type: "function",
    name,
    parameters: { type: "object", properties: schemas, required: Object.keys(schemas) },
  };
}

export function customTool(name: string, definition?: string, syntax = "lark"): CustomTool {
  return { type: "custom", name, ...(definition !== undefined && { grammar: { syntax, definition } }) };
}

/** The text that the model wrote in the part, or the name that it called. */
export function written(part: OutputPart): string {
  return part.type === "text" || part.type === "reasoning" ? part.text : part.type === "tool-call" ? part.name : "";
}

export function textOf({ content }: GenerateResponse): string {
  return content.filter((part) => part.type === "text").map(written).join("");
}

export function callsOf({ content }: GenerateResponse): ToolCallPart[] {
  return content.filter((part) => part.type === "tool-call");
}

/** The names of the tools that are called. */
export function calledBy(request: Partial<GenerateRequest>): string[] {
  return callsOf(ask(request)).map((call) => call.name);
}

/** The arguments of the only call. */
export function argumentsOf(request: Partial<GenerateRequest>): unknown {
  const [call, ...more] = callsOf(ask(request));
  if (!call || more.length > 0) throw new Error(`Expected one call, got ${call ? more.length + 1 : 0}`);
  return JSON.parse(call.input);
}

export const TARGET: Target = { upstream: "sandbox", model: "sandbox", systemMessages: "first" };

/** The bytes of a WAV file that says "Hello", unless something else is given here. */
export function speech(request: Partial<SpeechRequest>): Uint8Array<ArrayBuffer> {
  const whole: SpeechRequest = { model: "demo", text: "Hello", format: "wav", stream: false, ...request };
  const { audio } = speak(whole, TARGET, newContext("audio"));
  if (!(audio instanceof Uint8Array)) throw new Error("Expected the sound whole");
  return audio;
}
