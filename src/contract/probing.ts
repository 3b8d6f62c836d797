/**
 * How a server is identified: what it is asked, and how to read its answers. Plain data: the `probe` command does the
 * rest.
 */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

/** One answer from the server. */
export interface ProbeReply {
  /** 0 if no answer arrived. */
  status: number;
  headers: Headers;
  text: string;
  /** The text parsed, if it is JSON. */
  body?: JsonValue;
  /** From the request until the first byte of the answer's body, in milliseconds. */
  firstByteMs: number;
  /** The longest time between two pieces of the body, in milliseconds. */
  longestPauseMs: number;
}

/** Sends a request. The path is relative to the base URL, and `../` leads out of it. Without a body it is a GET. */
export type ProbeCall = (
  path: string,
  body?: JsonObject,
  headers?: Readonly<Record<string, string>>,
) => Promise<ProbeReply>;

/** A kind of server, recognized by an endpoint of its own. */
export interface ServerKind {
  /** The server's own name, for people. */
  title: string;
  /** The path to request below the base URL. Absent if the list of models is enough. */
  path?: string;
  /**
   * Returns `undefined` if the reply does not come from this kind of server. Without a `path`, the reply is the list of
   * models.
   */
  recognize(reply: ProbeReply): { version?: string; model?: string } | undefined;
  /** The driver for the server's own wires, if it has any. The upstream's base URL is then the server's root. */
  driver?: string;
  /** Upstream settings for this kind of server, with reasons. The answers of one model do not show all of them. */
  settings?: ProbeSettings;
}

export interface ProbeSettings {
  readonly [key: string]: { value: JsonValue; because: string };
}

/** The finding about one property: a row of the report. */
export interface ProbeFinding {
  /** Such as `tools`. */
  property: string;
  /** A few words. */
  value: string;
  /** Upstream settings that follow from it, with reasons. */
  settings?: ProbeSettings;
}

/** How a service says whether a token is valid, without running a model. */
export interface TokenCheck {
  /** The service's name for people. */
  title: string;
  /** A path that answers only to a valid token. */
  path: string;
  /** The page on which its users create a token. */
  keysAt: string;
  /** The missing permission, as a sentence. Absent if the token may do everything that the gateway needs. */
  lacks(body: JsonValue): string | undefined;
}
