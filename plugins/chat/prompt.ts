import type { GenerateRequest } from "../../src/canonical/generate.ts";
import {
  asObject,
  asObjects,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Prompt, Target } from "../../src/contract/driver.ts";
import { serializeRequest } from "./serialize_request.ts";

/** The input that servers of this wire give a model's chat template: the body's turns and tools, in the form that templates want. */
export function promptOf(input: GenerateRequest, target: Target, context: Context): Prompt {
  const { messages, tools, reasoning_effort: effort, chat_template_kwargs: variables } = serializeRequest(
    { ...input, stream: false },
    target,
    context,
  );
  return {
    messages: asObjects(messages).map(toTurn),
    ...(tools !== undefined && { tools: asObjects(tools) }),
    variables: { ...(effort !== undefined && { reasoning_effort: effort }), ...(isJsonObject(variables) && variables) },
  };
}

function toTurn({ content, tool_calls: calls, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    content: textIn(content),
    ...(calls !== undefined && { tool_calls: asObjects(calls).map(toCall) }),
  };
}

/** Many templates know texts only. */
function textIn(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  return asObjects(content).map(({ text }) => text).filter((text) => typeof text === "string").join("\n");
}

/** Templates go through the arguments by name, and fail on a text. */
function toCall(call: JsonObject): JsonObject {
  const called = asObject(call.function);
  return { ...call, function: { ...called, arguments: argumentsIn(called.arguments) } };
}

function argumentsIn(text: JsonValue | undefined): JsonObject {
  const value = parseJson(String(text)) ?? text;
  return isJsonObject(value) ? value : { input: value };
}
