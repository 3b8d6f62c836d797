/**
 * A protocol of your own: a question with a few turns before it, and an answer as plain text.
 *
 *     POST /oss/ask {"model": "sandbox", "question": "Why?", "before": [{"question": "…", "answer": "…"}]}
 *     {"answer": "Because.", "ended": "stop"}
 *
 * With `"stream": true` the answer comes as lines of JSON: `{"piece": "Bec"}`, …, `{"ended": "stop"}`; or `{"error": "…"}`.
 */
import {
  type Context,
  type Emit,
  type Exchange,
  type FinishReason,
  type Frame,
  type GatewayError,
  type GenerateEvent,
  type GenerateRequest,
  type GenerateResponse,
  type Message,
  type OutputPart,
  type Protocol,
  type StreamWriter,
  validate,
  type WireRequest,
  z,
} from "@laneway/gateway/plugin";

const requestSchema = z.strictObject({
  model: z.string().min(1),
  question: z.string().min(1),
  before: z.array(z.strictObject({ question: z.string(), answer: z.string() })).optional(),
  /** What the model is told first. */
  role: z.string().optional(),
  /** The longest answer, in tokens. */
  longest: z.int().min(1).optional(),
  stream: z.boolean().optional(),
});

/** Wire → canonical. What is not in the schema is refused, so nothing is lost in silence. */
function parseRequest({ body }: WireRequest): GenerateRequest {
  const { model, question, before = [], role, longest, stream = false } = validate(requestSchema, body);
  const messages: Message[] = [
    ...before.flatMap((turn): Message[] => [asked(turn.question), {
      role: "assistant",
      content: [{ type: "text", text: turn.answer }],
    }]),
    asked(question),
  ];
  if (role !== undefined) messages.unshift({ role: "system", content: [{ type: "text", text: role }] });
  return { model, messages, stream, ...(longest !== undefined && { maxOutputTokens: longest }) };
}

function asked(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] };
}

/** Typed by the canonical union: a new reason breaks the build here. */
const ENDED: Record<FinishReason, string> = {
  "stop": "stop",
  "length": "too long",
  "tool-calls": "stop",
  "content-filter": "refused",
  "paused": "stop",
  "other": "stop",
};

/** Canonical → wire. */
function serializeResponse({ content, finish }: GenerateResponse, context: Context): Response {
  for (const part of content) noteUnspeakable(part, context);
  const answer = content.map((part) => part.type === "text" || part.type === "refusal" ? part.text : "").join("");
  return Response.json({ answer, ended: ENDED[finish.reason] });
}

/** Says in a response header what the wire has no words for. */
function noteUnspeakable({ type }: OutputPart, { note }: Context): void {
  if (type !== "text" && type !== "refusal") note(`dropped ${type}`);
}

/** The same, step by step. `PartWriter` has put the events in order, so nothing is buffered. */
function serializeStream(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  return {
    write(event: GenerateEvent, emit: Emit<Frame>): void {
      switch (event.type) {
        case "start":
        case "part-end":
          return;
        case "part-start":
          return noteUnspeakable(event.part, exchange);
        case "part-delta": {
          const { type, text } = event.delta;
          if (type === "text" || type === "refusal") emit(line({ piece: text }));
          return;
        }
        case "finish":
          return emit(line({ ended: ENDED[event.finish.reason] }));
        case "error":
          return emit(line({ error: event.error.message }));
        default:
          event satisfies never;
      }
    },
  };
}

function line(value: Record<string, string>): Frame {
  return { data: JSON.stringify(value) };
}

function serializeError({ message, status }: GatewayError, { requestId }: { requestId: string }): Response {
  return Response.json({ error: message }, { status, headers: { "x-request-id": requestId } });
}

export const ask: Protocol<"generate"> = {
  name: "ask",
  wire: "ask",
  operation: "generate",
  method: "POST",
  pattern: new URLPattern({ pathname: "/:lane/ask" }),
  body: "json",
  parse: parseRequest,
  serialize: serializeResponse,
  // Lines of JSON have no comments. An empty piece keeps a silent connection open.
  keepAlive: () => line({ piece: "" }),
  stream: { framing: "ndjson", writer: serializeStream },
  serializeError,
};
