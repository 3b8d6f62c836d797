/** The steps of hosted tools in a stream: an item when a call begins, its events, and the item as it is once it has run. */
import type { HostedPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { serializeHosted } from "./hosted.ts";

type ItemEvent = [type: string, fields: JsonObject];

/** The events of an item that is done when it is sent. */
export function wholeItem(item: JsonObject, output_index: number): ItemEvent[] {
  return [
    ["response.output_item.added", { output_index, item }],
    ["response.output_item.done", { output_index, item }],
  ];
}

/** The events that begin a step: its item, without what only its end can say. */
export function beginHosted(part: HostedPart, output_index: number, sources: boolean): ItemEvent[] {
  const item = serializeHosted(part, sources);
  const added = (item: JsonObject): ItemEvent => ["response.output_item.added", { output_index, item }];
  const { call } = part;
  if (part.awaitsApproval || call.kind === "tool-search") return wholeItem(item, output_index);
  const place = { output_index, item_id: item.id };
  const begun: ItemEvent = [`response.${item.type}.in_progress`, place];
  switch (call.kind) {
    case "web-search":
    case "web-fetch":
    case "find-in-page":
      return [added(item), begun, ["response.web_search_call.searching", place]];
    case "code": {
      const { code } = call;
      return [
        added({ ...item, code: "", outputs: [] }),
        begun,
        ["response.code_interpreter_call_code.delta", { ...place, delta: code }],
        ["response.code_interpreter_call_code.done", { ...place, code }],
        ["response.code_interpreter_call.interpreting", place],
      ];
    }
    case "mcp-list":
      return [added({ ...item, tools: [] }), begun];
    case "mcp": {
      const { input } = call;
      return [
        added({ ...item, arguments: "" }),
        begun,
        ["response.mcp_call_arguments.delta", { ...place, delta: input }],
        ["response.mcp_call_arguments.done", { ...place, arguments: input }],
      ];
    }
    default:
      return call satisfies never;
  }
}

/** The events that end a step. A search that failed has no event of its own but that of its end. */
export function endHosted(part: HostedPart, item: JsonObject, output_index: number): ItemEvent[] {
  const isFailure = part.result?.kind === "error" && part.call.kind !== "code" && item.type !== "web_search_call";
  return [
    [`response.${item.type}.${isFailure ? "failed" : "completed"}`, { output_index, item_id: item.id }],
    ["response.output_item.done", { output_index, item }],
  ];
}
