import type { Pattern } from "./path_pattern.ts";
import type { HostedTool, OpaquePart } from "../canonical/generate.ts";
import type { AskedBeside, FailedTools } from "../canonical/hosted_tools.ts";
import type { Input, OperationName, Output, StreamEvent } from "../canonical/operations.ts";
import type { StoredAnswer } from "../canonical/stored.ts";
import type { GatewayError } from "../errors.ts";
import type { Allowance } from "./allowance.ts";
import type { Context, Exchange, WireRequest } from "./context.ts";
import type { EndpointDescription } from "./description.ts";
import type { Frame } from "./frame.ts";
import type { SocketSpeech } from "./socket.ts";
import type { AnswerFraming, StreamWriter } from "./stream.ts";

/** How an answer has a place for what is sealed. */
export interface ReasoningPlace {
  /** The client wants no words of it: then they are in what is sealed, and nowhere else. */
  hidden: boolean;
  /** What the wire's own vendor wrote for itself goes out as it is: it is worth the same at every place that vendor has. */
  keepsOwn: boolean;
  /** Whether what hosted tools brought travels there, too: the wire has no other place for it. */
  keepsSteps?: boolean;
}

/** Where a key may stand, beside the headers in which every client may send it. */
export interface KeyPlaces {
  header: string;
  parameter: string;
}

/** One client-facing endpoint: where it listens and how it speaks. Pure functions on data. */
export interface Protocol<K extends OperationName> {
  /** No other protocol has it: `messages-count-tokens`. */
  name: string;
  /** The format of its bytes, which several protocols share: whoever speaks it to an upstream speaks the client's own. */
  wire: string;
  operation: K;
  /** HEAD is answered as GET, without the body. */
  method: "GET" | "POST" | "DELETE";
  /**
   * With a group `lane`, but for an endpoint outside the lanes, whose requests go to the lane that has their model; ids that
   * may hold slashes as `:id(.+)`.
   */
  pattern: Pattern;
  /** The field of the body that holds the conversation. A writer does not find it there, because the core has let go of it. */
  conversation?: string;
  /** Loads what the verbs below are made of, where that waits for the first request: done before any of them is called. */
  load?(): Promise<void> | undefined;
  /** What the core reads, with the size limit, before `parse`. */
  body: "json" | "form" | "none";
  /** What the ids of its answers begin with: `chatcmpl-`. */
  idPrefix?: string;
  /** Where its clients may also put their key: a header, and a parameter of the query. */
  keyPlaces?: KeyPlaces;
  /** Whether a request that no protocol matches comes from this one's clients, who then get its error shape. */
  speaksFor?(headers: Headers): boolean;
  /** Tells apart protocols that share a pattern; the first that accepts wins. */
  accepts?(request: { headers: Headers; query: URLSearchParams }): boolean;
  /** Headers in which its clients say which conversation a request belongs to. */
  sessionHeaders?: readonly string[];
  /** What is sent in silence; a comment where absent or where it gives nothing. JSON lines have no comments. */
  keepAlive?(exchange: Omit<Exchange, "input">): Frame | undefined;
  parse(wire: WireRequest, context: Context): Input<K>;
  /** Where the answer to this request has a place for sealed reasoning; nothing where it has none. */
  reasoning?(wire: WireRequest): ReasoningPlace | undefined;
  /** What the request asks the server to run, apart from its list of tools. */
  toolsBeside?(wire: WireRequest): AskedBeside | undefined;
  /**
   * What is answered about hosted tools that no upstream runs, where the answer depends on them; nothing where they are the client's
   * own to run. Throws `invalid_request` where the wire has no answer for that.
   */
  failTools?(tools: readonly HostedTool[], exchange: Exchange<"generate">): FailedTools | undefined;
  /** The part of an answer that has a summary in it: the text, and the same sealed. */
  summary?(summary: { text: string; data: string }, exchange: Exchange<"generate">): OpaquePart;
  /** What is answered at once where the answer is made in the background: `answer` is none yet. */
  serializeQueued?(answer: StoredAnswer, exchange: Exchange<"generate">): Response;
  /** Whether clients go on with an answer that says that it paused, by sending it back. */
  canPause?: boolean;
  serialize(output: Output<K>, exchange: Exchange<K>): Response;
  /** How the answer to a relayed request is written. */
  relay?: Pick<Protocol<"relay">, "serialize" | "stream">;
  /** How a streamed answer is written. */
  stream?: { framing: AnswerFraming; writer(exchange: Exchange<K>): StreamWriter<StreamEvent<K>> };
  /** How the messages of a WebSocket are read and written. */
  socket?: SocketEndpoint;
  /** The headers that state what the caller may still do. `now`: milliseconds since the epoch. */
  serializeAllowance?(allowance: Allowance, now: number): Record<string, string>;
  /** What the endpoint is for, asked for when somebody reads the gateway's description of its API. */
  describe?(): EndpointDescription | Promise<EndpointDescription>;
  /** The protocol's own error shape, headers and statuses. */
  serializeError(error: GatewayError, request: { requestId: string }): Response;
}

/** A protocol of any operation, which `operation` names. */
export type AnyProtocol = { [K in Served]: Protocol<K> }[Served];
/** A relay has no endpoint of its own. */
type Served = Exclude<OperationName, "relay">;

export interface SocketEndpoint extends SocketSpeech {
  /** The endpoint that the messages would be for without a socket. */
  protocol: Protocol<"generate">;
}
