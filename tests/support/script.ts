import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import { base64, limit, name, overTheWire, schema, someText } from "./arbitraries.ts";

/** A conversation that every wire can tell, apart from how: what crosses wires must come out as it would have been written there. */
export interface Script {
  system: string | undefined;
  turns: Turn[];
  tools: { name: string; description: string; schema: JsonObject }[];
  choice: "auto" | "required" | "none" | { name: string } | undefined;
  oneByOne: boolean;
  maxTokens: number;
  temperature: number | undefined;
  stop: string[] | undefined;
  effort: "low" | "medium" | "high" | "xhigh" | "max" | undefined;
  stream: boolean;
}

export interface Turn {
  /** A user's turn: one text, and pictures after it. */
  asked: string;
  pictures: string[];
  thought: string | undefined;
  answered: string | undefined;
  calls: { id: string; name: string; input: JsonObject; result: string; failed: boolean }[];
}

const text = someText.filter((value) => value.trim() !== "");
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const input = fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }).map(overTheWire) as fc.Arbitrary<
  JsonObject
>;

const call = fc.record({ name, input, result: text, failed: fc.boolean() });
const turn = fc.record({
  asked: text,
  pictures: fc.array(base64, { maxLength: 2 }),
  thought: maybe(text),
  answered: maybe(text),
  calls: fc.array(call, { maxLength: 3 }),
});
const tools = fc.uniqueArray(fc.record({ name, description: text, schema }), {
  maxLength: 2,
  selector: (tool) => tool.name,
});

export const script: fc.Arbitrary<Script> = tools.chain((offered) =>
  fc.record({
    system: maybe(text),
    turns: fc.array(turn, { minLength: 1, maxLength: 3 }).map(numbered),
    tools: fc.constant(offered),
    choice: offered.length === 0
      ? fc.constant(undefined)
      : fc.constantFrom(undefined, "auto" as const, "required" as const, "none" as const, { name: offered[0]!.name }),
    oneByOne: fc.boolean(),
    maxTokens: limit,
    temperature: maybe(fc.double({ min: 0, max: 1, noNaN: true }).map(overTheWire)),
    stop: maybe(fc.array(text, { minLength: 1, maxLength: 2 })),
    effort: maybe(
      fc.constantFrom("low" as const, "medium" as const, "high" as const, "xhigh" as const, "max" as const),
    ),
    stream: fc.boolean(),
  })
    // Where nothing else is said, a wish against parallel calls is said of the default choice.
    .map((request) => ({
      ...request,
      choice: request.oneByOne && offered.length > 0 ? request.choice ?? "auto" : request.choice,
    }))
);

function numbered(turns: readonly (Omit<Turn, "calls"> & { calls: Omit<Turn["calls"][number], "id">[] })[]): Turn[] {
  return turns.map((turn, at) => ({
    ...turn,
    // A turn in which nothing is said and nothing is called is no turn.
    answered: turn.answered ?? (turn.calls.length === 0 ? "." : undefined),
    calls: turn.calls.map((call, number) => ({ id: `call_${at}_${number}`, ...call })),
  }));
}

/** The request as a client, or for an upstream, of the chat wire. */
export function inChat(request: Script, model: string): JsonObject {
  return {
    model,
    messages: [
      ...(request.system === undefined ? [] : [{ role: "system", content: request.system }]),
      ...request.turns.flatMap((turn): JsonObject[] => [
        {
          role: "user",
          content: [
            { type: "text", text: turn.asked },
            ...turn.pictures.map((data) => ({
              type: "image_url",
              image_url: { url: `data:image/png;base64,${data}` },
            })),
          ],
        },
        {
          role: "assistant",
          content: turn.answered ?? null,
          reasoning_content: turn.thought,
          tool_calls: turn.calls.map(({ id, name, input }) => ({
            id,
            type: "function",
            function: { name, arguments: JSON.stringify(input) },
          })),
        },
        ...turn.calls.map(({ id, result, failed }) => ({
          role: "tool",
          tool_call_id: id,
          content: failed ? `Error: ${result}` : result,
        })),
      ]),
    ],
    tools: request.tools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })),
    tool_choice: typeof request.choice === "object" ? { type: "function", function: request.choice } : request.choice,
    parallel_tool_calls: request.oneByOne && request.choice !== "none" ? false : undefined,
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    stop: request.stop,
    reasoning_effort: request.effort,
    stream: request.stream,
  };
}

const CHOICE = { auto: "auto", required: "any", none: "none" } as const;

/** The script as a request in the messages wire. */
export function inMessages(request: Script, model: string): JsonObject {
  const { choice } = request;
  const chosen = typeof choice === "object" ? { type: "tool", ...choice } : choice && { type: CHOICE[choice] };
  return {
    model,
    system: request.system,
    messages: request.turns.flatMap((turn): JsonObject[] => [
      {
        role: "user",
        content: [
          { type: "text", text: turn.asked },
          ...turn.pictures.map((data) => ({
            type: "image",
            source: { type: "base64", media_type: "image/png", data },
          })),
        ],
      },
      {
        role: "assistant",
        content: [
          ...(turn.thought === undefined ? [] : [{ type: "thinking", thinking: turn.thought, signature: "" }]),
          ...(turn.answered === undefined ? [] : [{ type: "text", text: turn.answered }]),
          ...turn.calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
        ],
      },
      ...(turn.calls.length === 0 ? [] : [{
        role: "user",
        content: turn.calls.map(({ id, result, failed }) => ({
          type: "tool_result",
          tool_use_id: id,
          content: result,
          is_error: failed,
        })),
      }]),
    ]),
    tools: request.tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    tool_choice: chosen && {
      ...chosen,
      disable_parallel_tool_use: request.oneByOne && choice !== "none" ? true : undefined,
    },
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    stop_sequences: request.stop,
    output_config: request.effort && { effort: request.effort },
    stream: request.stream,
  };
}

/** The script as a request in the responses wire, which has no stop sequences. */
export function inResponses(request: Script, model: string): JsonObject {
  return {
    model,
    instructions: request.system,
    input: request.turns.flatMap((turn): JsonObject[] => [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: turn.asked },
          ...turn.pictures.map((data) => ({ type: "input_image", image_url: `data:image/png;base64,${data}` })),
        ],
      },
      ...(turn.thought === undefined ? [] : [{
        type: "reasoning",
        summary: [],
        content: [{ type: "reasoning_text", text: turn.thought }],
      }]),
      ...(turn.answered === undefined ? [] : [{
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: turn.answered, annotations: [] }],
      }]),
      ...turn.calls.map(({ id, name, input }) => ({
        type: "function_call",
        call_id: id,
        name,
        arguments: JSON.stringify(input),
      })),
      ...turn.calls.map(({ id, result, failed }) => ({
        type: "function_call_output",
        call_id: id,
        output: failed ? `Error: ${result}` : result,
      })),
    ]),
    tools: request.tools.map(({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    })),
    tool_choice: typeof request.choice === "object" ? { type: "function", ...request.choice } : request.choice,
    parallel_tool_calls: request.oneByOne && request.choice !== "none" ? false : undefined,
    max_output_tokens: request.maxTokens,
    temperature: request.temperature,
    reasoning: request.effort && { effort: request.effort },
    stream: request.stream,
  };
}
