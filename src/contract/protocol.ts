import type { Pattern } from "./path_pattern.ts";
import type { HostedTool, OpaquePart } from "../canonical/generate.ts";
import type { FailedTools, HostedToolFields } from "../canonical/hosted_tools.ts";
import type { Input, OperationName, Output, StreamEvent } from "../canonical/operations.ts";
import type { StoredAnswer } from "../canonical/stored.ts";
import type { GatewayError } from "../errors.ts";
import type { Allowance } from "./allowance.ts";
import type { Context, Exchange, WireRequest } from "./context.ts";
import type { WireClient } from "./driver.ts";
import type { EndpointDescription } from "./description.ts";
import type { EditingSpeech } from "./editing.ts";
import type { Frame } from "./frame.ts";
import type { SocketSpeech } from "./socket.ts";
import type { AnswerFraming, StreamWriter } from "./stream.ts";
import type { ThreadSpeech } from "./thread.ts";

/** Where an answer can carry sealed reasoning. */
export interface ReasoningPlace {
  /** Whether the client wants no text of the reasoning. The text is then only in the sealed data. */
  hidden: boolean;
  /**
   * Whether reasoning that the wire's own vendor encoded is passed on unsealed. It is valid at every upstream of that
   * vendor.
   */
  keepsOwn: boolean;
  /** Whether results of hosted tools are sealed there too, because the wire has no other field for them. */
  keepsSteps?: boolean;
}

/** Where a client may send its key, besides the headers that every client may use. */
export interface KeyPlaces {
  header: string;
  parameter: string;
}

/** One client-facing endpoint: where it listens, and how it reads and writes. Pure functions on data. */
export interface Protocol<K extends OperationName> {
  /** Unique name, such as `messages-count-tokens`. */
  name: string;
  /** The wire format, which several protocols may share. A driver of the same wire sends the client's own format. */
  wire: string;
  operation: K;
  /** A HEAD request is answered like a GET, without the body. */
  method: "GET" | "POST" | "DELETE";
  /**
   * Has a group `lane`, unless the endpoint is outside the lanes: then the lane that has the model serves the request.
   * Ids that may contain slashes are written `:id(.+)`.
   */
  pattern: Pattern;
  /** The field of the body that holds the conversation. Writers cannot read it, because the core has released it by then. */
  conversation?: string;
  /** Loads the functions below, if that waits for the first request. It completes before any of them is called. */
  load?(): Promise<void> | undefined;
  /** The kind of body that the core reads before `parse`, within the size limit. */
  body: "json" | "form" | "bytes" | "none";
  /** The prefix of the ids of its answers: `chatcmpl-`. */
  idPrefix?: string;
  /** Where its clients may also send their key: a header and a query parameter. */
  keyPlaces?: KeyPlaces;
  /** Whether an unmatched request comes from a client of this protocol. If so, errors have this protocol's shape. */
  speaksFor?(headers: Headers, pathname?: string): boolean;
  /** Why the gateway does not serve this path, if it is one of the wire's own. */
  unserved?(pathname: string): string | undefined;
  /** Distinguishes protocols that share a path pattern. The first one that accepts the request serves it. */
  accepts?(request: { headers: Headers; query: URLSearchParams }): boolean;
  /** The protocol that serves a request, where the body decides which. `undefined` for this one. */
  variant?(wire: WireRequest): AnyProtocol | undefined;
  /** Headers in which its clients identify the conversation of a request. */
  sessionHeaders?: readonly string[];
  /** The keep-alive frame for an idle stream. Without one, a comment is sent. JSON lines have no comments. */
  keepAlive?(exchange: Omit<Exchange, "input">): Frame | undefined;
  parse(wire: WireRequest, context: Context): Input<K>;
  /** Where the answer to this request can carry sealed reasoning. `undefined` if nowhere. */
  reasoning?(wire: WireRequest): ReasoningPlace | undefined;
  /** The hosted tools that the request names outside its list of tools. */
  toolsBeside?(wire: WireRequest): HostedToolFields | undefined;
  /**
   * The answer for hosted tools that no upstream runs, if the request depends on them. `undefined` if the client itself
   * runs them. Throws `invalid_request` if the wire has no such answer.
   */
  failTools?(tools: readonly HostedTool[], exchange: Exchange<"generate">): FailedTools | undefined;
  /** The part of an answer that carries a summary, given as text and sealed. */
  summary?(summary: { text: string; data: string }, exchange: Exchange<"generate">): OpaquePart;
  /** How its clients continue threads. Present if `parse` may return a part of one. */
  threads?(): Promise<ThreadSpeech>;
  /** How its clients have parts of a conversation cleared. Present if `parse` may return a request with `editing`. */
  edits?(): Promise<EditingSpeech>;
  /** The immediate answer when the real one is made in the background. `answer` is still pending. */
  serializeQueued?(answer: StoredAnswer, exchange: Exchange<"generate">): Response;
  /** Whether its clients continue a paused answer by sending it back. */
  canPause?: boolean;
  serialize(output: Output<K>, exchange: Exchange<K>): Response;
  /** How to write the answer to a relayed request. */
  relay?: Pick<Protocol<"relay">, "serialize" | "stream">;
  /** How to write a streamed answer. */
  stream?: { framing: AnswerFraming; writer(exchange: Exchange<K>): StreamWriter<StreamEvent<K>> };
  /** How to read and write the messages of a WebSocket. */
  socket?: SocketEndpoint;
  /** The headers that report what the caller may still use. `now`: milliseconds since the epoch. */
  serializeAllowance?(allowance: Allowance, now: number): Record<string, string>;
  /** How its clients write a request and read the streamed answer. Absent if a driver of the same wire does both. */
  client?(): Promise<WireClient>;
  /** Describes the endpoint, for the gateway's own API description. */
  describe?(): EndpointDescription | Promise<EndpointDescription>;
  /** The error in the protocol's own shape, with its headers and status. */
  serializeError(error: GatewayError, request: { requestId: string }): Response;
}

/** A protocol of any operation. `operation` says which. */
export type AnyProtocol = { [K in Served]: Protocol<K> }[Served];
/** All operations except relay, which has no endpoint of its own. */
type Served = Exclude<OperationName, "relay">;

export interface SocketEndpoint extends SocketSpeech {
  /** The protocol that serves the same requests without a socket. */
  protocol: Protocol<"generate">;
}
