/** The marks that mean something in an answer's text. */
import { CALL_FORMS } from "./text_forms_calls.ts";
import { Marks } from "./text_forms_source.ts";

/** The marks that open reasoning, each with the one that closes it. */
export const REASONING: Readonly<Record<string, string>> = {
  "<think>": "</think>",
  "<thinking>": "</thinking>",
  "<mm:think>": "</mm:think>",
  "[THINK]": "[/THINK]",
};
export const REASONING_OPENS = Object.keys(REASONING);

/** The marks that begin a message of harmony: its header follows. */
export const CHANNELS = ["<|channel|>", "<|start|>assistant"];
export const CHANNEL_ENDS = ["<|end|>", "<|return|>"];

/** The marks that engines leave behind a call: the ends of turns, and of tags that were not opened. */
export const LEFTOVERS = ["</tool_call>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<｜end▁of▁sentence｜>"];

/** All that means something anywhere. */
export const MARKS = new Marks([
  ...REASONING_OPENS,
  ...CHANNELS,
  ...CHANNEL_ENDS,
  ...LEFTOVERS,
  ...CALL_FORMS.map(({ open }) => open),
]);
