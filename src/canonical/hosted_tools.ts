import type { HostedTool, OpaquePart } from "./generate.ts";
import type { JsonObject } from "./json.ts";

/** The hosted tools that a request names outside its list of tools. */
export interface HostedToolFields {
  tools: readonly HostedTool[];
}

/** The content of an answer instead of the model's text, if a tool that it needs did not run. */
export interface FailedTools {
  content: OpaquePart[];
  /** How the wire's usage reports such tools. */
  usage?: JsonObject;
}
