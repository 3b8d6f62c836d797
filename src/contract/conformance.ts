/** The public conformance kit: what it sends to any server of a wire, and what it requires of the answers. */
import type { JsonObject } from "../canonical/json.ts";

/** One complete answer, with its body as text. */
export interface CheckReply {
  /** 0 if no answer arrived. */
  status: number;
  contentType: string;
  headers: Headers;
  text: string;
  /** Whether the connection ended before the body did. */
  isCut: boolean;
  /** Whether the answer, or the rest of it, did not arrive in time. */
  isLate?: boolean;
}

/** Sends a body to a path below the base URL. Bytes and text are sent unchanged, and a list is sent piece by piece. */
export type CheckCall = (path: string, body: JsonObject | string | readonly string[]) => Promise<CheckReply>;

export interface CheckedCall {
  id: string;
  name: string;
  /** As JSON text. */
  input: string;
}

/** The content of an answer in terms that do not depend on the wire, and what is wrong with its form. */
export interface CheckedAnswer {
  text: string;
  thoughts: string;
  calls: CheckedCall[];
  stop?: "end" | "length" | "tools" | "other";
  usage?: { input: number; output: number };
  /** Whether it began normally and ended with an error. */
  isFailed: boolean;
  /** Whether it is an error instead of an answer. */
  isRefused?: boolean;
  /** One sentence each, without a full stop. */
  complaints: string[];
}

/** The content of a request in terms that do not depend on the wire. */
export interface CheckQuestion {
  model: string;
  text: string;
  system?: string;
  stream?: boolean;
  tools?: readonly CheckTool[];
  /** `any`: the model must call some tool. */
  toolChoice?: "none" | "any";
  maxTokens?: number;
}

export interface CheckTool {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** How one wire writes requests and reads answers. */
export interface CheckedWire {
  name: string;
  /** Below the base URL. */
  path: string;
  headers: Readonly<Record<string, string>>;
  request(question: CheckQuestion): JsonObject;
  /** The next turn: the request with the answer and the results of its calls. */
  withResults(request: JsonObject, answer: CheckReply, results: ReadonlyMap<string, string>): JsonObject;
  readWhole(reply: CheckReply): CheckedAnswer;
  readStream(reply: CheckReply): CheckedAnswer;
  /** The faults in the form of an error. */
  readError(reply: CheckReply): string[];
}

/** A scripted upstream: what it answers, and which requests it received. */
export interface ScriptedUpstream {
  /** The bodies of the requests that it received, in order. */
  asked: JsonObject[];
  /** Sets the answers to the next requests. The last one also answers all later requests. */
  answer(...responses: (() => Response)[]): void;
}

export interface CheckDesk {
  wire: CheckedWire;
  model: string;
  ask: CheckCall;
  /** Present if the kit also runs the upstream behind the gateway. */
  upstream?: ScriptedUpstream;
}

/** Empty if the requirement is met. */
export type Complaints = readonly string[];

export interface CheckCase {
  /** Such as `parallel-calls`. */
  id: string;
  /** The requirement, and which clients are known to break without it. */
  requirement: string;
  /** Whether it needs a scripted upstream. */
  isScripted?: boolean;
  run(desk: CheckDesk): Promise<Complaints | { skipped: string }>;
}
