/** The messages wire as the chat wire, by hand: no zod, no form between them, and each field checked where it is read. */

// deno-lint-ignore no-explicit-any -- it comes from outside, and each field is checked
type Json = any;

function check(holds: boolean, place: string): void {
  if (!holds) throw new TypeError(`"${place}" is not as it must be`);
}

function text(value: unknown, place: string): string {
  check(typeof value === "string", place);
  return value as string;
}

function textOf(content: Json, place: string): string {
  if (typeof content === "string") return content;
  check(Array.isArray(content), place);
  let all = "";
  for (const block of content) {
    check(block?.type === "text", place);
    all += text(block.text, place);
  }
  return all;
}

/** A request of the messages wire as one of the chat wire. */
export function toChat(asked: Json): object {
  const { model, system, messages, tools, max_tokens, temperature, stream } = asked;
  check(Array.isArray(messages) && messages.length > 0, "messages");
  check(Number.isInteger(max_tokens) && max_tokens > 0, "max_tokens");
  check(temperature === undefined || typeof temperature === "number", "temperature");
  check(stream === undefined || typeof stream === "boolean", "stream");
  const turns: object[] = system === undefined ? [] : [{ role: "system", content: textOf(system, "system") }];
  for (const message of messages) addTurns(message, turns);
  return {
    model: text(model, "model"),
    messages: turns,
    ...(tools !== undefined && { tools: tools.map(toFunction) }),
    max_tokens,
    temperature,
    ...(stream && { stream, stream_options: { include_usage: true } }),
  };
}

function addTurns({ role, content }: Json, turns: object[]): void {
  check(role === "user" || role === "assistant", "role");
  if (typeof content === "string") return void turns.push({ role, content });
  check(Array.isArray(content), "content");
  let words = "";
  const calls: object[] = [];
  for (const block of content) {
    if (block.type === "text") words += text(block.text, "text");
    else if (block.type === "tool_use") {
      const called = { name: text(block.name, "name"), arguments: JSON.stringify(block.input) };
      calls.push({ id: text(block.id, "id"), type: "function", function: called });
    } else {
      check(block.type === "tool_result", "type");
      const tool_call_id = text(block.tool_use_id, "tool_use_id");
      turns.push({ role: "tool", tool_call_id, content: textOf(block.content, "content") });
    }
  }
  if (words !== "" || calls.length > 0) {
    turns.push({ role, content: words, ...(calls.length > 0 && { tool_calls: calls }) });
  }
}

function toFunction({ name, description, input_schema }: Json): object {
  check(typeof input_schema === "object" && input_schema !== null, "input_schema");
  return { type: "function", function: { name: text(name, "name"), description, parameters: input_schema } };
}

const REASONS: Record<string, string> = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use" };

/** An answer of the chat wire as one of the messages wire. */
export function toMessage({ id, model, choices, usage }: Json): object {
  check(Array.isArray(choices) && choices.length > 0, "choices");
  const [{ message, finish_reason }] = choices;
  const words = message.content ?? "";
  const calls = (message.tool_calls ?? []).map((call: Json) => ({
    type: "tool_use",
    id: text(call.id, "id"),
    name: text(call.function.name, "name"),
    input: JSON.parse(call.function.arguments),
  }));
  return {
    id: text(id, "id"),
    type: "message",
    role: "assistant",
    model: text(model, "model"),
    content: [...(text(words, "content") === "" ? [] : [{ type: "text", text: words }]), ...calls],
    stop_reason: REASONS[finish_reason] ?? "end_turn",
    stop_sequence: null,
    usage: { input_tokens: usage?.prompt_tokens ?? 0, output_tokens: usage?.completion_tokens ?? 0 },
  };
}
