import { fieldsFor, splitInside } from "../../src/canonical/extra.ts";
import type { GenerateEvent, OutputPart, PartDelta, ToolCallPart } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { serializeErrorBody } from "../shared/errors.ts";
import { serializeFinish } from "./finish.ts";
import { asksForFunctions } from "./legacy.ts";
import { flatCustomTools } from "./responses_shaped.ts";
import { noteUnspeakable, serializeAnnotation } from "./serialize_response.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

/**
 * An answer as `chat.completion.chunk`s: the role first, then increments, the finish reason, the usage if the client asked
 * for it (with `choices: []`), `[DONE]`. A failure is a chunk with `error`, and no `[DONE]` after it.
 */
export async function* serializeStream(
  events: AsyncIterable<GenerateEvent>,
  exchange: Exchange<"generate">,
): AsyncGenerator<Frame> {
  const { id, created, input, wire } = exchange;
  const showsUsage = asksForUsage(wire.body);
  const legacy = asksForFunctions(wire);
  const flat = flatCustomTools(wire.body);
  let fields: JsonObject = {};
  let calls = 0;
  let custom = false;

  const frame = (rest: JsonObject): Frame => ({
    data: JSON.stringify({ id, object: "chat.completion.chunk", created, model: input.model, ...rest }),
  });
  const chunk = (delta: JsonObject, finish: string | null = null, choice: JsonObject = {}) =>
    frame({
      choices: [{ index: 0, delta, finish_reason: finish, ...choice }],
      ...(showsUsage && { usage: null }),
      ...fields,
    });

  for await (const event of events) {
    switch (event.type) {
      case "start":
        fields = fieldsFor(WIRE, event.extra);
        yield chunk({ role: "assistant", content: "" });
        break;
      case "part-start": {
        noteUnspeakable([event.part], exchange);
        if (event.part.type === "tool-call") {
          calls++;
          custom = isCustom(event.part, flat);
        }
        const delta = startDelta(event.part, calls - 1, { custom, legacy });
        if (delta) yield chunk(delta);
        break;
      }
      case "part-delta": {
        const delta = contentDelta(event.delta, { index: calls - 1, custom, legacy });
        if (delta) yield chunk(delta);
        break;
      }
      case "part-end":
        if (event.annotations) yield chunk({ annotations: event.annotations.map(serializeAnnotation) });
        break;
      case "finish": {
        const { choice, message, usage, ...extra } = fieldsFor(WIRE, event.extra);
        const finish = serializeFinish(event.finish);
        fields = { ...fields, ...extra };
        yield chunk(
          isJsonObject(message) ? message : {},
          legacy && finish === "tool_calls" ? "function_call" : finish,
          isJsonObject(choice) ? choice : {},
        );
        if (showsUsage) yield frame({ choices: [], usage: serializeUsage(event.usage, usage), ...fields });
        yield { data: "[DONE]" };
        break;
      }
      case "error":
        yield { data: JSON.stringify(serializeErrorBody(event.error)) };
        break;
      default:
        event satisfies never;
    }
  }
}

export function asksForUsage(body: unknown): boolean {
  return isJsonObject(body) && isJsonObject(body.stream_options) && body.stream_options.include_usage === true;
}

/** What opens a part: only a call has a beginning of its own. The legacy form has room for the first call alone. */
function startDelta(part: OutputPart, call: number, { custom, legacy }: CallForm): JsonObject | undefined {
  if (part.type !== "tool-call") return undefined;
  const { id, name, extra } = part;
  if (legacy) return call === 0 ? { function_call: { name, arguments: "" } } : undefined;
  if (custom) return { tool_calls: [{ index: call, id, type: "custom", custom: { name, input: "" } }] };
  const { inner, outer } = splitInside("function", fieldsFor(WIRE, extra));
  const described = { name, arguments: "", ...inner };
  return { tool_calls: [{ index: call, id, type: "function", function: described, ...outer }] };
}

function isCustom({ kind, name }: ToolCallPart, flat: ReadonlySet<unknown>): boolean {
  return kind === "custom" && !flat.has(name);
}

/** How a call is told. */
interface CallForm {
  custom: boolean;
  legacy: boolean;
}

interface OpenCall extends CallForm {
  index: number;
}

function contentDelta({ type, text }: PartDelta, { index, custom, legacy }: OpenCall): JsonObject | undefined {
  switch (type) {
    case "text":
      return { content: text };
    case "reasoning":
      return { reasoning_content: text, reasoning: text };
    case "refusal":
      return { refusal: text };
    case "tool-input":
      if (legacy) return index === 0 ? { function_call: { arguments: text } } : undefined;
      return { tool_calls: [{ index, ...(custom ? { custom: { input: text } } : { function: { arguments: text } }) }] };
    default:
      return type satisfies never;
  }
}
