/**
 * Tools that a server runs in the middle of an answer: what is asked of them, what the model calls, and what came of it, in words
 * that every wire shares.
 */
import type { JsonObject } from "./json.ts";

/** What a hosted tool is to do. */
export type HostedWork = SearchWork | FetchWork | RemoteWork;

/** Searching the web. */
export interface SearchWork {
  kind: "web-search";
  /** How many searches one answer may take. */
  maxUses?: number;
  domains?: Domains;
  location?: Location;
  /** How much of what was found the model is given. */
  size?: "low" | "medium" | "high";
  /** Whether the model may also open pages and find words in them. */
  opensPages: boolean;
}

/** Opening pages that the conversation has named. */
export interface FetchWork {
  kind: "web-fetch";
  maxUses?: number;
  domains?: Domains;
  /** The longest page that the model is given, in tokens. */
  maxTokens?: number;
}

/** Calling the tools of a server that speaks the Model Context Protocol. */
export interface RemoteWork {
  kind: "mcp";
  /** What the conversation calls the server. */
  server: string;
  /** Nothing where the configuration has the server. */
  url?: string;
  /** The request's field that names the server, where its tool does not: of no concern to whoever does not run it. */
  field?: string;
  /** Sent as a bearer token to this server alone. Never stored, logged or sent back. */
  token?: string;
  headers?: Readonly<Record<string, string>>;
  /** Those of its tools that the model is offered; all where absent. */
  allowedTools?: readonly string[];
  /** Whether only tools are offered that change nothing, as the server says. */
  readOnly?: boolean;
  /** Which calls run only once the client has approved them. */
  approval: Approval;
}

/** Names of tools, or `readOnly` for those that change nothing, as their server says. */
export interface ToolFilter {
  names?: readonly string[];
  readOnly?: boolean;
}

export type Approval = "always" | "never" | { always?: ToolFilter; never?: ToolFilter };

/** Hosts without a scheme, subdomains included, perhaps with a path below. */
export interface Domains {
  allowed?: readonly string[];
  blocked?: readonly string[];
}

/** Roughly where the user is. */
export interface Location {
  city?: string;
  region?: string;
  /** Two letters (ISO 3166-1). */
  country?: string;
  /** Of the IANA database. */
  timezone?: string;
}

/** One call of a hosted tool. */
export type HostedCall =
  | { kind: "web-search"; query: string }
  | { kind: "web-fetch"; url: string }
  | { kind: "find-in-page"; url: string; pattern: string }
  /** Asks a server which tools it has. The gateway makes it, the model never does. */
  | { kind: "mcp-list"; server: string }
  | { kind: "mcp"; server: string; name: string; input: string };

/** What came of a call. */
export type HostedResult =
  | { kind: "hits"; hits: readonly SearchHit[] }
  | { kind: "page"; page: Page }
  | { kind: "tools"; tools: readonly RemoteTool[] }
  | { kind: "content"; content: readonly RemoteContent[]; isError?: true }
  /** It came, and the client has not kept it. */
  | { kind: "lost" }
  | { kind: "error"; code: HostedErrorCode; message?: string };

/** What a remote tool answers with. */
export type RemoteContent =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; source: { type: "base64"; data: string } };

/** A page that a search has found. */
export interface SearchHit {
  /** The model and its citations name the hit by it: hits are numbered through the conversation, from 1; 0 until they are. */
  number: number;
  url: string;
  title: string;
  /** What the search says of the page's content. Empty where only the client's copy is left, which has none. */
  text: string;
  /** When the page is from, in the search's own words. */
  age?: string;
  /** The hit as the client keeps it for the gateway, sealed. */
  sealed?: string;
}

/** The number of a hit that comes back from a client which has not kept it. */
export const UNNUMBERED = 0;

export interface Page {
  url: string;
  title?: string;
  text: string;
  mediaType: string;
  /** RFC 3339. */
  retrievedAt?: string;
}

/** A tool that a server of the Model Context Protocol offers. */
export interface RemoteTool {
  name: string;
  description?: string;
  /** A JSON schema. */
  parameters: JsonObject;
  /** What the server says of it, such as that it changes nothing (`readOnlyHint`). */
  annotations?: JsonObject;
}

/** Why a call brought nothing. Every wire has words of its own for each. */
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
  | "too_large";

/** Whether the client lets a call run that waited for it. */
export interface HostedApproval {
  /** Of the call. */
  id: string;
  isApproved: boolean;
  reason?: string;
}
