import type { HostedTool, OpaquePart } from "./generate.ts";
import type { JsonObject } from "./json.ts";

/** What a request asks the server to run, outside its list of tools. */
export interface HostedToolFields {
  tools: readonly HostedTool[];
}

/** What an answer contains instead of the model's text, if a tool that it needs did not run. */
export interface FailedTools {
  content: OpaquePart[];
  /** How the wire's usage reports such tools. */
  usage?: JsonObject;
}
