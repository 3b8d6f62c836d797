import type { JsonObject } from "../../src/canonical/json.ts";
import { isSearchCall, type Speech, type SpokenPart } from "./serialize_response.ts";

/** How the pieces of an item are sent: the event that brings its text, and the part that the text stands in. */
export interface Delivery {
  text: string;
  /** The field of the whole text. */
  key: string;
  part?: { event: string; list: "content" | "summary"; index: "content_index" | "summary_index"; empty: JsonObject };
  more?: JsonObject;
}

const content = { event: "content_part", list: "content", index: "content_index" } as const;
const TEXT: Delivery = {
  text: "output_text",
  key: "text",
  part: { ...content, empty: { type: "output_text", text: "", annotations: [], logprobs: [] } },
  more: { logprobs: [] },
};
const REFUSAL: Delivery = {
  text: "refusal",
  key: "refusal",
  part: { ...content, empty: { type: "refusal", refusal: "" } },
};
const THOUGHT: Delivery = {
  text: "reasoning_text",
  key: "text",
  part: { ...content, empty: { type: "reasoning_text", text: "" } },
};
const SUMMARY: Delivery = {
  text: "reasoning_summary_text",
  key: "text",
  part: {
    event: "reasoning_summary_part",
    list: "summary",
    index: "summary_index",
    empty: { type: "summary_text", text: "" },
  },
};
export const FUNCTION: Delivery = { text: "function_call_arguments", key: "arguments" };
export const CUSTOM: Delivery = { text: "custom_tool_call_input", key: "input" };

/** Nothing for what comes whole. */
export function deliveryOf(part: SpokenPart, speech: Speech): Delivery | undefined {
  const { summarizes } = speech;
  switch (part.type) {
    case "text":
      return TEXT;
    case "refusal":
      return REFUSAL;
    case "reasoning":
      // Thoughts that only their vendor can read have no text, not even an empty one.
      return part.opaque ? undefined : summarizes ? SUMMARY : THOUGHT;
    case "tool-call":
      if (isSearchCall(part, speech)) return undefined;
      return part.kind === "custom" ? CUSTOM : FUNCTION;
    case "hosted":
    case "opaque":
      return undefined;
    default:
      return part satisfies never;
  }
}
