import type { HostedTool, OpaquePart } from "./generate.ts";
import type { JsonObject } from "./json.ts";

/** What a request asks of the server apart from its list of tools. */
export interface AskedBeside {
  tools: readonly HostedTool[];
}

/** What an answer holds in place of the model's words, where the tool that it needs did not run. */
export interface FailedTools {
  content: OpaquePart[];
  /** What the wire's usage says of such tools. */
  usage?: JsonObject;
}
