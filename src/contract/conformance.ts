/** The public conformance kit: what any server of a wire is asked, and what is required of its answers. */
import type { JsonObject } from "../canonical/json.ts";

/** One answer, whole: its body as text, whatever it is. */
export interface CheckReply {
  /** 0 where none came. */
  status: number;
  contentType: string;
  headers: Headers;
  text: string;
  /** Whether the connection ended before the body did. */
  isCut: boolean;
}

/** Sends a body to a path below the base URL. Bytes and texts go as they are, a list of pieces one piece after the other. */
export type CheckAsk = (path: string, body: JsonObject | string | readonly string[]) => Promise<CheckReply>;

export interface CheckedCall {
  id: string;
  name: string;
  /** As JSON text. */
  input: string;
}

/** What an answer says, whatever its wire, and what is wrong with its form. */
export interface CheckedAnswer {
  text: string;
  thoughts: string;
  calls: CheckedCall[];
  stop?: "end" | "length" | "tools" | "other";
  usage?: { input: number; output: number };
  /** Whether it ended with an error after its beginning. */
  isFailed: boolean;
  /** Whether it is no answer but an error. */
  isRefused?: boolean;
  /** A sentence each, without a full stop. */
  complaints: string[];
}

/** What a request asks, whatever its wire. */
export interface CheckQuestion {
  model: string;
  text: string;
  system?: string;
  stream?: boolean;
  tools?: readonly CheckTool[];
  /** `any`: some tool has to be called. */
  toolChoice?: "none" | "any";
  maxTokens?: number;
}

export interface CheckTool {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** How one wire asks and answers. */
export interface CheckedWire {
  name: string;
  /** Below the base URL. */
  path: string;
  headers: Readonly<Record<string, string>>;
  request(question: CheckQuestion): JsonObject;
  /** The next turn: the answer, and the results of its calls. */
  withResults(request: JsonObject, answer: CheckReply, results: ReadonlyMap<string, string>): JsonObject;
  readWhole(reply: CheckReply): CheckedAnswer;
  readStream(reply: CheckReply): CheckedAnswer;
  /** What is wrong with the form of an error. */
  readError(reply: CheckReply): string[];
}

/** What an upstream in a script answers, and what it was asked. */
export interface ScriptedUpstream {
  /** The bodies of the requests that came, in order. */
  asked: JsonObject[];
  /** What the next request gets; the last answer stays for those that follow. */
  answer(...responses: (() => Response)[]): void;
}

export interface CheckDesk {
  wire: CheckedWire;
  model: string;
  ask: CheckAsk;
  /** Present where the kit stands behind the gateway, too. */
  upstream?: ScriptedUpstream;
}

/** Nothing where the requirement is met. */
export type Complaints = readonly string[];

export interface CheckCase {
  /** Such as `parallel-calls`. */
  id: string;
  /** What is required, and of whom it is known that they break without it. */
  requirement: string;
  /** Whether it needs an upstream in a script. */
  isScripted?: boolean;
  run(desk: CheckDesk): Promise<Complaints | { skipped: string }>;
}
