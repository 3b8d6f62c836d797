/**
 * Tools that a server runs in the middle of an answer: their tasks, the model's calls and the results, in terms that
 * all wires share.
 */
import type { JsonObject } from "./json.ts";

/** The task of a hosted tool. */
export type HostedWork = SearchWork | FetchWork | CodeWork | RemoteWork | ToolSearchWork | DrawWork;

/** Searching the web. */
export interface SearchWork {
  kind: "web-search";
  /** The most searches for one answer. */
  maxUses?: number;
  domains?: Domains;
  location?: Location;
  /** How much of the results the model receives. */
  size?: "low" | "medium" | "high";
  /** Whether the model may also open pages and search for words in them. */
  opensPages: boolean;
}

/** Opening pages that the conversation mentions. */
export interface FetchWork {
  kind: "web-fetch";
  maxUses?: number;
  domains?: Domains;
  /** The longest page that the model receives, in tokens. */
  maxTokens?: number;
}

/** Running code that the model writes, in a container. */
export interface CodeWork {
  kind: "code";
  maxUses?: number;
  /** The container that the request names. */
  container?: string;
  /** Whether the conversation goes on in the container of its last call if the request names none. */
  continues?: boolean;
  /** The other ways of the tool to work in a container, in words. The gateway has none of them. */
  lacks?: string;
  /** The beginning of the ids of containers on the wire. */
  prefix: string;
  /** The request field that names the container, if the tool does not. Needed only by the one that runs the tool. */
  field?: string;
  /** The ids of the files that a new container begins with. */
  files?: readonly string[];
  /** Those that are put into one that is there. By default those of `files` which it lacks. */
  newFiles?: readonly string[];
}

/** Searching the request's own tools, of which the model sees only those that it has found. */
export interface ToolSearchWork {
  kind: "tool-search";
  /** By a regular expression, or by the words of a question. */
  method: "regex" | "bm25";
  /** Fields of the tool that only its own vendor understands. */
  unknown?: readonly string[];
  maxUses?: undefined;
}

/** Drawing pictures by another model, and changing pictures of the conversation. */
export interface DrawWork {
  kind: "image";
  maxUses?: number;
  /** Whether only new pictures are drawn, or only given ones are changed. Absent: as the model decides. */
  action?: "generate" | "edit";
  /** The settings of the pictures, as the images wire has them. */
  settings: JsonObject;
}

/** Calling the tools of a Model Context Protocol server. */
export interface RemoteWork {
  kind: "mcp";
  /** The server's name in the conversation. */
  server: string;
  /** Absent if the server is in the configuration. */
  url?: string;
  /** The request field that names the server, if no tool does. Needed only by the one that runs the tool. */
  field?: string;
  /** Sent as a bearer token to this server only. Never stored, logged or sent back. */
  token?: string;
  headers?: Readonly<Record<string, string>>;
  /** The tools of the server that the model is offered. Defaults to all. */
  allowedTools?: readonly string[];
  /** Whether to offer only tools that the server declares to be read-only. */
  readOnly?: boolean;
  /** Which calls need the client's approval before they run. */
  approval: Approval;
}

/** Tool names, or `readOnly` for tools that their server declares to be read-only. */
export interface ToolFilter {
  names?: readonly string[];
  readOnly?: boolean;
}

export type Approval = "always" | "never" | { always?: ToolFilter; never?: ToolFilter };

/** Hosts without a scheme, including subdomains. A path may follow. */
export interface Domains {
  allowed?: readonly string[];
  blocked?: readonly string[];
}

/** The user's approximate location. */
export interface Location {
  city?: string;
  region?: string;
  /** Two letters (ISO 3166-1). */
  country?: string;
  /** A name from the IANA database. */
  timezone?: string;
}

/** One search for tools. */
export interface ToolSearchCall {
  kind: "tool-search";
  method: ToolSearchWork["method"];
  /** The regular expression, or the question. */
  query: string;
  /** The most tools to find. */
  limit?: number;
}

/** One call of a hosted tool. */
export type HostedCall =
  | ToolSearchCall
  | { kind: "web-search"; query: string }
  | { kind: "web-fetch"; url: string }
  | { kind: "find-in-page"; url: string; pattern: string }
  /** Draws a picture, or changes the latest one of the conversation. */
  | { kind: "image"; prompt: string; isEdit?: true }
  /** `container`: empty if the client has not kept it. */
  | { kind: "code"; code: string; container: string }
  /** Lists a server's tools. Called by the gateway, never by the model. */
  | { kind: "mcp-list"; server: string }
  | { kind: "mcp"; server: string; name: string; input: string };

/** The outcome of a call. */
export type HostedResult =
  | { kind: "hits"; hits: readonly SearchHit[] }
  | { kind: "page"; page: Page }
  /** The names of the request's tools that were found. The model sees them from then on. */
  | { kind: "found"; tools: readonly string[] }
  | { kind: "tools"; tools: readonly RemoteTool[] }
  | { kind: "content"; content: readonly RemoteContent[]; isError?: true }
  | ({ kind: "picture" } & HostedPicture)
  | ExecutedCode
  /** The result arrived, but the client has not kept it. */
  | { kind: "lost" }
  | { kind: "error"; code: HostedErrorCode; message?: string };

/** The output of code, and the files that it has made. */
export interface ExecutedCode {
  kind: "executed";
  stdout: string;
  stderr: string;
  exitCode: number;
  files: readonly MadeFile[];
  /** When the container expires, in milliseconds since the epoch. Absent if the client has not kept it. */
  expires?: number;
}

/** A file that code has made, which is stored for the caller. */
export interface MadeFile {
  /** The id without the prefix of a wire. */
  id: string;
  name: string;
  mediaType: string;
  bytes: number;
}

/** A picture that was drawn. */
export interface HostedPicture {
  base64: string;
  /** `image/png`. */
  mediaType: string;
  /** The prompt that the model was given, if the upstream changed it. */
  revisedPrompt?: string;
  /** How it was drawn, as the images wire has it: `size`, `quality`, `background` and `output_format`. */
  facts: JsonObject;
}

/** The content of a remote tool's answer. */
export type RemoteContent =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; source: { type: "base64"; data: string } };

/** A search result. */
export interface SearchHit {
  /**
   * The number by which the model and its citations refer to the hit. Hits are numbered through the conversation,
   * starting at 1. 0 until then.
   */
  number: number;
  url: string;
  title: string;
  /** The search's excerpt of the page. Empty if only the client's copy is left, which has none. */
  text: string;
  /** The date of the page, as the search service writes it. */
  age?: string;
  /** The sealed copy of the hit that the client keeps for the gateway. */
  sealed?: string;
}

/** The number of a hit that a client returns without having kept its number. */
export const UNNUMBERED = 0;

export interface Page {
  url: string;
  title?: string;
  text: string;
  mediaType: string;
  /** RFC 3339. */
  retrievedAt?: string;
}

/** A tool offered by a Model Context Protocol server. */
export interface RemoteTool {
  name: string;
  description?: string;
  /** A JSON schema. */
  parameters: JsonObject;
  /** The server's own statements about the tool, such as that it is read-only (`readOnlyHint`). */
  annotations?: JsonObject;
}

/** Why a call failed. Every wire has its own words for each code. */
export type HostedErrorCode =
  | "invalid_input"
  | "unavailable"
  | "too_many_uses"
  | "too_many_requests"
  | "too_long"
  | "not_allowed"
  | "not_in_conversation"
  | "not_accessible"
  | "unsupported_type"
  | "too_late"
  | "expired"
  | "too_large";

/** Whether the client approves a call that waited for it. */
export interface HostedApproval {
  /** The id of the call. */
  id: string;
  isApproved: boolean;
  reason?: string;
}
