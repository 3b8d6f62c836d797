import type { Finish, FinishReason } from "../../src/canonical/generate.ts";
import type { Context } from "../../src/contract/context.ts";

const WORD_OF: Record<FinishReason, "stop" | "length"> = {
  "stop": "stop",
  "length": "length",
  "tool-calls": "stop",
  "content-filter": "stop",
  "paused": "stop",
  "other": "stop",
};

/** The wire has no word for filtered answers or other finish reasons. */
export function serializeFinish({ reason, raw }: Finish, { note }: Context): string {
  if (reason === "content-filter") note("dropped the ending content-filter");
  else if (reason === "other" && raw) note(`dropped the ending ${raw}`);
  return WORD_OF[reason];
}
