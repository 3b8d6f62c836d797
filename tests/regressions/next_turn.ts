/** What a client of each protocol keeps of an answer, and how it goes on from there. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { listOf, objectOf, type View, type Wire } from "./support.ts";

/** What is left of the visible words of a thought in a client's history. */
export type Memory = "whole" | "trimmed" | "nothing";

const CUT: Record<Memory, (text: string) => string> = {
  whole: (text) => text,
  trimmed: (text) => text.trim().slice(1),
  nothing: () => "",
};

/** The request after `view`, the answer to `body`: the call in it is answered, or the user goes on. */
export function nextTurn(client: Wire, body: JsonObject, view: View, memory: Memory = "whole"): JsonObject {
  const called = view.said.flatMap((one) => "call" in one ? [one.id!] : []);
  const kept = KEPT[client](view, CUT[memory]);
  switch (client) {
    case "chat": {
      const results = called.map((id) => ({ role: "tool", tool_call_id: id, content: "here" }));
      const next = results.length > 0 ? results : [{ role: "user", content: "And now?" }];
      return { ...body, messages: [...listOf(body.messages), ...kept, ...next] };
    }
    case "messages": {
      const results = called.map((id) => ({ type: "tool_result", tool_use_id: id, content: "here" }));
      const content = results.length > 0 ? results : "And now?";
      return {
        ...body,
        messages: [...listOf(body.messages), { role: "assistant", content: kept }, { role: "user", content }],
      };
    }
    case "responses": {
      const results = called.map((call_id) => ({ type: "function_call_output", call_id, output: "here" }));
      const next = results.length > 0 ? results : [{ type: "message", role: "user", content: "And now?" }];
      return { ...body, input: [...listOf(body.input), ...kept, ...next] };
    }
    default:
      return client satisfies never;
  }
}

const KEPT: Record<Wire, (view: View, cut: (text: string) => string) => JsonObject[]> = {
  chat(view) {
    const { reasoning_content, content, tool_calls } = view.frames.length > 0
      ? joined(view)
      : objectOf(listOf(view.body.choices)[0]!.message);
    return [{ role: "assistant", reasoning_content, content, tool_calls }];
  },
  messages: (view, cut) =>
    blocksOf(view).map((block) =>
      block.type === "thinking" ? { ...block, thinking: cut(String(block.thinking)) } : block
    ),
  responses(view, cut) {
    const response = view.frames.length > 0 ? objectOf(JSON.parse(view.frames.at(-2)!.data!)).response : view.body;
    const cutAll = (list: JsonObject[]) => list.map((one) => ({ ...one, text: cut(String(one.text)) }));
    return listOf(objectOf(response).output).map((item) =>
      item.type === "reasoning"
        ? { ...item, summary: cutAll(listOf(item.summary)), content: cutAll(listOf(item.content)) }
        : item
    );
  },
};

/** The message that a stream of the chat wire tells. */
function joined({ frames }: View): JsonObject {
  const message: JsonObject = {};
  const calls: JsonObject[] = [];
  for (const { data } of frames.filter(({ data }) => data?.startsWith("{"))) {
    for (const { delta } of listOf(JSON.parse(data!).choices)) {
      for (const [key, value] of Object.entries(objectOf(delta))) {
        if (typeof value === "string" && key !== "role") message[key] = `${message[key] ?? ""}${value}`;
      }
      for (const { index, function: called, ...rest } of listOf(objectOf(delta).tool_calls)) {
        const call = calls[Number(index)] ??= { ...rest, function: { arguments: "" } };
        const { name, arguments: added = "" } = objectOf(called);
        const own = objectOf(call.function);
        call.function = { ...own, ...(name !== undefined && { name }), arguments: `${own.arguments}${added}` };
      }
    }
  }
  return { ...message, content: message.content || null, ...(calls.length > 0 && { tool_calls: calls }) };
}

/** The blocks of an answer of the messages wire. */
export function blocksOf({ body, frames }: View): JsonObject[] {
  if (frames.length === 0) return listOf(body.content);
  const blocks: JsonObject[] = [];
  const inputs: string[] = [];
  for (const { data } of frames.filter(({ data }) => data !== undefined)) {
    const { type, index, content_block, delta } = objectOf(JSON.parse(data!));
    const at = Number(index);
    if (type === "content_block_start") blocks[at] = { ...objectOf(content_block) };
    if (type !== "content_block_delta") continue;
    const { thinking, signature, text, partial_json } = objectOf(delta);
    const block = blocks[at]!;
    if (typeof text === "string") block.text = `${block.text}${text}`;
    if (typeof thinking === "string") block.thinking = `${block.thinking}${thinking}`;
    if (typeof signature === "string") block.signature = `${block.signature}${signature}`;
    if (typeof partial_json === "string") inputs[at] = `${inputs[at] ?? ""}${partial_json}`;
  }
  for (const [at, input] of inputs.entries()) if (input) blocks[at]!.input = JSON.parse(input);
  return blocks;
}
