/** The canonical forms of a recorded request and its answers. The gateway's own readers read them again. */
import { COLLECT } from "../../canonical/collect.ts";
import type { Input, ModelOperation, StreamEvent } from "../../canonical/operations.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { Capture, CapturedCall } from "../../context/capture.ts";
import type { RequestContext } from "../../context/request_context.ts";
import type { AnswerContext, WireRequest } from "../../contract/context.ts";
import type { Target, UpstreamOperation } from "../../contract/driver.ts";
import type { AnyProtocol, Protocol } from "../../contract/protocol.ts";
import { GatewayError, toGatewayError } from "../../errors.ts";
import { framesIn } from "../../upstream/frames.ts";
import { readEvents } from "../../upstream/read_events.ts";
import { respond } from "../../upstream/run.ts";
import type { Upstream } from "../../upstream/send.ts";
import { runSliced, type SlicedWork } from "../../util/sliced_work.ts";
import type { ServedOperation } from "../../inference/incoming.ts";
import { type HideLong, hiderOf } from "./masked_text.ts";
import { recordOf } from "./records.ts";

/** A request as its protocol reads it. */
export interface Parsed {
  protocol: AnyProtocol;
  input: Input<ServedOperation>;
  /** The parameters in its path. */
  params: WireRequest["params"];
  notes: string[];
}

/**
 * `?id=`: the request in canonical form, the changes by each transform for each target, and each answer in canonical
 * form.
 */
export async function understood(context: RequestContext): Promise<Response> {
  const one = recordOf(context);
  const { signal } = context;
  const hideFirst = await runSliced(hiderOf(one), signal);
  const parsed = await attempted(() => parseRecorded(one, context.gateway));
  const explanation = await attempted(() => explained(one, context.gateway));
  const answers = await Promise.all(
    one.calls.map((call) => attempted(() => answerOf(call, parsed.value, context.gateway))),
  );
  // Meanwhile the record may have got another call, or may have been dropped.
  const hideLast = await runSliced(hiderOf(one), signal);
  function* hide(text: string): SlicedWork<string> {
    return yield* hideLast(yield* hideFirst(text));
  }
  const asked = one.calls.map((call) => askedNow(call, explanation.value));
  const calls: object[] = [];
  for (const [index, texts] of asked.entries()) {
    const isAsExplained = texts && await runSliced(isOneOf(texts, hide), signal);
    calls.push({ answer: answers[index]?.value, problem: answers[index]?.problem, isAsExplained });
  }
  const { input, notes } = parsed.value ?? {};
  const view = { input, notes, problem: parsed.problem, explanation, calls };
  return new Response(await runSliced(hide(JSON.stringify(view)), signal), {
    headers: { "content-type": "application/json" },
  });
}

export async function attempted<T>(run: () => T | Promise<T>): Promise<{ value?: T; problem?: string }> {
  try {
    return { value: await run() };
  } catch (thrown) {
    return { problem: toGatewayError(thrown).message };
  }
}

/**
 * The recorded request as its protocol reads it. Throws the error that the client got, or `invalid_request` if the
 * record is incomplete.
 */
export function parseRecorded(one: Capture, { registry }: Gateway): Parsed {
  const url = new URL(one.url);
  const headers = new Headers(one.headers.map(([name, value]): [string, string] => [name, value]));
  const match = registry.match({ method: one.method, url: one.url, headers }, url);
  if (!match || "allow" in match) throw new GatewayError("invalid_request", "No protocol serves this path any more");
  const notes: string[] = [];
  const wire: WireRequest = { body: bodyOf(one), headers, params: match.params, query: url.searchParams };
  const protocol = match.protocol as Protocol<ServedOperation>;
  const input = protocol.parse(wire, { clientWire: protocol.wire, note: (text) => void notes.push(text) });
  return { protocol: match.protocol, input, params: match.params, notes };
}

function bodyOf({ body }: Capture): unknown {
  if (body.kept < body.length) throw new GatewayError("invalid_request", "The body was not kept in full");
  if (body.isDescription) throw new GatewayError("invalid_request", "The form's files were not kept");
  return JSON.parse(new TextDecoder().decode(body.bytes()));
}

/** Headers that belong to a connection, or identify the client. */
const OWN_HEADERS =
  /^(host|connection|content-.*|transfer-.*|accept-enc.*|expect|upgrade|sec-.*|origin|referer|accept|user-agent)$/;

/** The headers of a request that influence its answer, without those that were masked. */
export function ownHeaders({ headers }: Capture): [string, string][] {
  return headers.filter(([name, value]) => !OWN_HEADERS.test(name) && !value.includes("***"))
    .map(([name, value]) => [name, value]);
}

/** The explanation of the request as the gateway would serve it now, for the same caller. No upstream is called. */
async function explained(one: Capture, gateway: Gateway): Promise<Explained> {
  bodyOf(one);
  const { method, url, caller } = one;
  const headers = new Headers(ownHeaders(one));
  headers.set("content-type", "application/json");
  headers.set("x-laneway-explain", "true");
  const quiet: Gateway = {
    ...gateway,
    guards: { ...gateway.guards, authenticate: () => Promise.resolve(caller) },
    observe: { log() {} },
  };
  const response = await gateway.answer(
    new Request(url, { method, headers, body: one.body.bytes() }),
    undefined,
    quiet,
  );
  const answer = await response.json();
  if (answer?.object !== "explanation") {
    throw new GatewayError("invalid_request", answer?.error?.message ?? "It cannot be explained");
  }
  return answer;
}

interface Explained {
  object: "explanation";
  targets: { target?: string; requests?: { body?: unknown }[] }[];
}

/**
 * The text that was sent, and the texts that would be sent now. `undefined` if they are unknown or depend on an earlier
 * answer.
 */
function askedNow(call: CapturedCall, explanation: Explained | undefined): { sent: string; now: string[] } | undefined {
  const found = explanation?.targets.find(({ target }) => target === call.target);
  if (call.isFollowUp || !found?.requests || call.body.kept < call.body.length) return undefined;
  const sent = new TextDecoder().decode(call.body.bytes());
  return { sent, now: found.requests.map(({ body }) => JSON.stringify(body) ?? "") };
}

/**
 * Whether the sent text is one of those that would be sent now. Secrets are hidden in all of them, because the
 * explanation contains none.
 */
function* isOneOf({ sent, now }: { sent: string; now: string[] }, hide: HideLong): SlicedWork<boolean> {
  const hidden = yield* hide(sent);
  for (const one of now) if ((yield* hide(one)) === hidden) return true;
  return false;
}

/** An answer in canonical form, or its error. */
export async function answerOf(call: CapturedCall, parsed: Parsed | undefined, gateway: Gateway): Promise<unknown> {
  const { status = 0, answer, answerHeaders: headers = new Headers(), target: name } = call;
  const upstream = gateway.upstreams.get(call.upstream);
  const driver = gateway.drivers.get(call.driver);
  if (!parsed || !upstream || !driver || status === 0) return undefined;
  if (answer.kept < answer.length) throw new GatewayError("invalid_request", "The answer was not kept in full");
  const text = new TextDecoder().decode(answer.bytes());
  const reply = { status, headers, body: jsonIn(text) as string };
  if (status >= 300) {
    const { code, message } = driver.parseError(reply);
    return { error: { code, message } };
  }
  const operation = parsed.protocol.operation as ModelOperation;
  const way = driver.operations[operation];
  if (!way || "local" in way || "relay" in parsed.input && parsed.input.relay) return undefined;
  const notes: string[] = [];
  const context: AnswerContext = {
    clientWire: parsed.protocol.wire,
    note: (text) => void notes.push(text),
    inputTokens: 0,
  };
  const target: Target = { ...upstream.quirks, upstream: call.upstream, model: name.slice(call.upstream.length + 1) };
  const asked = {
    operation,
    input: parsed.input as Input<ModelOperation>,
    target,
    context,
    upstream: { ...upstream, driver },
  };
  const isStream = typeof reply.body === "string" && way.stream !== undefined;
  const read = isStream ? await collected(text, asked, way) : await respond([reply], asked as never, way as never);
  return { output: read, notes };
}

interface Asked {
  operation: ModelOperation;
  input: Input<ModelOperation>;
  target: Target;
  context: AnswerContext;
  upstream: Upstream;
}

/** The answer in a stream. If the stream broke off, the part before that. */
async function collected<K extends ModelOperation>(
  text: string,
  { operation, input, target, context, upstream }: Asked,
  way: UpstreamOperation<K>,
): Promise<unknown> {
  const { framing, reader: open } = way.stream!;
  const reader = open(input as Input<K>, target, context);
  const events: StreamEvent<K>[] = [];
  const emit = (event: StreamEvent<K>) => void events.push(event);
  await readEvents(framesIn(text, framing, upstream), reader, emit);
  const end = reader.done ? undefined : reader.end(emit);
  if (end) await runSliced(end);
  const collect = COLLECT[operation] as ((events: readonly StreamEvent<K>[]) => unknown) | undefined;
  return collect ? collect(events) : events;
}

/** The value that a text is in JSON; the text itself if it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
