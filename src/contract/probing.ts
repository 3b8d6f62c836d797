/** How a server is found out: what it is asked, and what its answers say. Plain data: the command `probe` does the rest. */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

/** One answer of the server. */
export interface ProbeReply {
  /** 0 where none came. */
  status: number;
  headers: Headers;
  text: string;
  /** Where the text is JSON. */
  body?: JsonValue;
  /** From the request until the first byte of the answer's body, in milliseconds. */
  firstByteMs: number;
  /** The longest time between two pieces of the body, in milliseconds. */
  longestPauseMs: number;
}

/** Asks the server. The path is below the base URL; `../` leads to what is beside it. No body: GET. */
export type ProbeAsk = (
  path: string,
  body?: JsonObject,
  headers?: Readonly<Record<string, string>>,
) => Promise<ProbeReply>;

/** What kind of server it is, as an address of its own tells. */
export interface ServerKind {
  /** For people, and by its own name. */
  title: string;
  /** What is asked for, below the base URL; nothing where the list of models tells. */
  path?: string;
  /** Whether the answer is this server's; of the list of models where there is no path. Its version where it tells one. */
  recognize(reply: ProbeReply): { version?: string; model?: string } | undefined;
  /** Where it has wires of its own, the driver that speaks them; its base URL is then the server's. */
  driver?: string;
  /** The settings of an upstream that follow from what it is, and why: one model's answers show less. */
  settings?: ProbeSettings;
}

export interface ProbeSettings {
  readonly [key: string]: { value: JsonValue; because: string };
}

/** What was found out of one property: a row of the report. */
export interface ProbeFinding {
  /** Such as `tools`. */
  property: string;
  /** What it is, in few words. */
  value: string;
  /** The settings of an upstream that follow from it, and why. */
  settings?: ProbeSettings;
}
