/** The upstreams of a simulated world, and what they served. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { answerTo, type Body, type Said } from "../support/continuing_engine.ts";
import { markOf, resultsIn, saidIn } from "./rounds.ts";
import { streamedBy, tokensOf, wholeBy } from "./responses_upstream.ts";
import type { SimulatedTime } from "./clock.ts";
import type { ToolServers } from "./tool_servers.ts";
import {
  type Ask,
  BEFORE,
  type Fault,
  type FaultKind,
  isAsk,
  modelOf,
  type Schedule,
  type UpstreamFacts,
} from "./schedule.ts";

/** One call that an upstream got. */
export interface Call {
  ask: number;
  upstream: number;
  gateway: number;
  at: number;
  fault?: Fault;
  /** `refused`: its answer never began. `left`: the gateway broke it off. */
  state: "running" | "complete" | "broken" | "refused" | "left";
  /** The tokens that it said, once all of its answer was read. */
  stated?: { input: number; output: number };
  /** How many frames the gateway has read. */
  frames: number;
  body: Body;
  /** The number of the round, if the model wants tools of the gateway. */
  round?: number;
}

const encoder = new TextEncoder();

export class Network {
  readonly calls: Call[] = [];
  readonly #time: SimulatedTime;
  readonly #schedule: Schedule;
  readonly #asks: ReadonlyMap<number, Ask>;
  readonly #trace: (line: string) => void;
  readonly #counts = new Map<number, number>();

  readonly #tools: ToolServers;

  constructor(schedule: Schedule, tools: ToolServers, time: SimulatedTime, trace: (line: string) => void) {
    this.#tools = tools;
    this.#schedule = schedule;
    this.#time = time;
    this.#trace = trace;
    this.#asks = new Map(schedule.steps.filter(isAsk).map((step) => [step.id, step]));
  }

  running(upstream: number): number {
    return this.calls.filter((call) => call.upstream === upstream && call.state === "running").length;
  }

  open(): Call[] {
    return this.calls.filter(({ state }) => state === "running");
  }

  /** The `fetch` of one process. `isGone`: whether that has ended without warning. */
  fetchOf({ gateway, owner }: { gateway: number; owner: number }, isGone: () => boolean): typeof fetch {
    return async (input, init) => {
      if (isGone()) throw new TypeError("The process is gone");
      const request = new Request(input, init);
      const text = await request.text();
      const { signal } = request;
      if (!/^up\d/.test(new URL(request.url).hostname)) return await this.#tools.answer(request, text, owner);
      const upstream = Number(/^up(\d+)\./.exec(new URL(request.url).hostname)?.[1]);
      const body = JSON.parse(text) as Body;
      const ask = askIn(body);
      const number = this.#counts.get(ask) ?? 0;
      this.#counts.set(ask, number + 1);
      const fault = this.#asks.get(ask)!.faults.find(({ call }) => call === number);
      const call: Call = {
        ask,
        upstream,
        gateway,
        at: this.#time.now(),
        // The upstream may have begun with what the gateway does not want any more.
        state: signal.aborted ? "left" : "running",
        frames: 0,
        body,
        ...(fault && { fault }),
      };
      this.calls.push(call);
      this.#trace(
        `up${upstream} is asked for ${ask}, call ${number}${fault ? `, ${fault.kind} after ${fault.after}` : ""}`,
      );
      signal.throwIfAborted();
      try {
        return await this.#answer(call, this.#schedule.upstreams[upstream]!, signal);
      } catch (thrown) {
        if (call.state === "running") {
          call.state = "refused";
          this.#trace(`up${upstream} cannot answer: ${thrown}`);
        }
        throw thrown;
      }
    };
  }

  async #answer(call: Call, facts: UpstreamFacts, signal: AbortSignal): Promise<Response> {
    const { fault } = call;
    const isWhole = call.body.stream !== true;
    await this.#wait(fault?.kind === "silent" ? Infinity : facts.pace[0], call, signal);
    const kind = fault && (isWhole ? WHOLE[fault.kind] ?? fault.kind : fault.kind);
    if (kind && BEFORE.includes(kind)) {
      call.state = "refused";
      if (kind === "unreachable") throw new TypeError("error sending request: connection refused");
      return refusal(kind, facts.wire);
    }
    const whole = this.#asks.get(call.ask)!;
    const { says, round } = saidAt(call, whole);
    const ask = { ...whole, says };
    if (round !== undefined) call.round = round;
    const answer = facts.wire === "responses"
      ? { rest: ask.says, tokens: tokensOf(ask.says, ask.pieces), frames: [], isCut: false }
      : engineAnswer(call, facts as typeof facts & { wire: "chat" | "messages" }, ask);
    const stated = { input: 10, output: this.#lengthOf(call, answer.tokens) };
    if (isWhole) {
      const answered = facts.wire === "responses"
        ? await wholeBy(ask.says, stated)
        : wholeOf(facts, answer.rest, stated);
      const text = JSON.stringify(answered);
      const frames = kind ? [text.slice(0, text.length >> 1)] : [text];
      const paceMs = facts.pace[1] * answer.tokens;
      return this.#send({ call, frames, stated, signal, ends: kind, paceMs }, "application/json");
    }
    const { frames, isCut } = facts.wire === "responses"
      ? streamedBy(ask.says, ask.pieces, stated, fault)
      : { ...answer, frames: answer.frames.map((frame) => frame.replace(USAGE, `$1${stated.output}`)) };
    const ends = isCut ? kind : undefined;
    return this.#send({ call, frames, stated, signal, ends, paceMs: facts.pace[1] }, "text/event-stream");
  }

  /** The tokens that it says its answer has. */
  #lengthOf({ body }: Call, tokens: number): number {
    if (!this.#schedule.settings.isLongest) return tokens;
    const { max_tokens, max_completion_tokens = max_tokens } = body as {
      max_tokens?: number;
      max_completion_tokens?: number;
    };
    return Math.max(tokens, max_completion_tokens ?? 0);
  }

  #send({ call, frames, stated, signal, ends, paceMs }: Sending, type: string): Response {
    const leave = () => {
      if (call.state === "running") call.state = "left";
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        signal.addEventListener("abort", () => {
          if (call.state !== "running") return;
          leave();
          controller.error(signal.reason);
        });
      },
      pull: async (controller) => {
        const frame = frames[call.frames];
        if (frame === undefined && ends === "stall") return await this.#wait(Infinity, call, signal).catch(() => {});
        if (frame !== undefined) {
          await this.#wait(paceMs, call, signal).catch(() => {});
          if (call.state !== "running") return;
          call.frames++;
          // The frame after the last words only marks the end.
          if (call.frames >= Math.max(1, frames.length - 1) && ends === undefined) call.stated = stated;
          return controller.enqueue(encoder.encode(frame));
        }
        if (call.state !== "running") return;
        call.state = ends ? "broken" : "complete";
        if (ends === "reset") controller.error(new TypeError("error reading a body: connection reset"));
        else controller.close();
      },
      cancel: leave,
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": type } });
  }

  /** Waits so many milliseconds, or until the gateway leaves. */
  async #wait(ms: number, call: Call, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = ms === Infinity ? undefined : this.#time.after(resolve, ms);
    const leave = () => {
      this.#time.clear(timer);
      if (call.state === "running") call.state = "left";
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", leave));
  }
}

interface Sending {
  call: Call;
  frames: string[];
  stated: { input: number; output: number };
  signal: AbortSignal;
  ends: FaultKind | undefined;
  paceMs: number;
}

/** Where the end of a stream says how long the answer was. */
const USAGE = /("usage":\{"(?:prompt_tokens":10,"completion|output)_tokens":)\d+/;

/** What the model says in this call: first it calls tools of the gateway, if it is offered any. */
function saidAt({ body }: Call, { id, rounds = [], says }: Ask): { round?: number; says: Said[] } {
  // deno-lint-ignore no-explicit-any -- tools of three wires
  const tools = (body.tools ?? []) as any[];
  const offered = new Set<string>(tools.map((tool) => tool.function?.name ?? tool.name));
  const done = new Set(resultsIn(body).map(({ mark }) => mark));
  for (const round of rounds) {
    const said = saidIn(id, round, offered);
    const isDone = round.uses.some((_, at) => done.has(markOf(id, round.number, at)));
    if (said.length > 0 && !isDone) return { round: round.number, says: said };
  }
  return { says };
}

function engineAnswer(
  { body, fault }: Call,
  facts: UpstreamFacts & { wire: "chat" | "messages" },
  { says, pieces }: Ask,
): ReturnType<typeof answerTo> {
  const cut = fault ? { after: fault.after, how: HOW[fault.kind] ?? "closed" } : { after: Infinity, how: "closed" };
  return answerTo(body, { says, pieces, ...facts }, cut as Parameters<typeof answerTo>[2]);
}

const HOW: Partial<Record<FaultKind, string>> = {
  closed: "closed",
  reset: "reset",
  garbage: "garbage",
  error: "error",
  overload: "overload",
};

/** How a whole answer fails that would fail in the middle if it were a stream. */
const WHOLE: Partial<Record<FaultKind, FaultKind>> = { error: "failing", overload: "busy" };

/** The number of the request, which every prompt begins with. */
function askIn({ messages, input }: Body): number {
  const turns = messages ?? input as Body["messages"];
  const texts = turns.filter(({ role }) => role === "user").map(({ content }) =>
    typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("")
  );
  return Number(/^#(\d+)\b/.exec(texts.findLast((text) => text.startsWith("#"))!)![1]);
}

const STATUS: Partial<Record<FaultKind, readonly [number, string]>> = {
  failing: [500, "server_error"],
  limiting: [429, "rate_limit_error"],
  busy: [503, "overloaded_error"],
};

function refusal(kind: FaultKind, wire: UpstreamFacts["wire"]): Response {
  const [status, type] = STATUS[kind]!;
  const error = { message: `It is ${kind}`, type, code: null, param: null };
  return Response.json(wire === "messages" ? { type: "error", error } : { error }, {
    status,
    ...(kind === "limiting" && { headers: { "retry-after": "1" } }),
  });
}

function wholeOf(
  facts: UpstreamFacts,
  rest: readonly Said[],
  { input, output }: { input: number; output: number },
): JsonObject {
  const text = (kind: "text" | "reasoning") =>
    rest.map((said) => kind in said ? (said as Record<string, string>)[kind]! : "").join("");
  const calls = rest.filter((said) => "call" in said);
  if (facts.wire === "messages") {
    const content = rest.map((said, at) =>
      "text" in said
        ? { type: "text", text: said.text }
        : "reasoning" in said
        ? { type: "thinking", thinking: said.reasoning, signature: "" }
        : { type: "tool_use", id: `toolu_${at}`, name: said.call, input: JSON.parse(said.input) }
    );
    const usage = { input_tokens: input, output_tokens: output };
    const stop_reason = calls.length > 0 ? "tool_use" : "end_turn";
    return { id: "m", type: "message", role: "assistant", model: modelOf(facts), content, stop_reason, usage };
  }
  const message = {
    role: "assistant",
    content: text("text") || null,
    ...(text("reasoning") && { reasoning_content: text("reasoning") }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ call, input }, at) => ({
        id: `call_${at}`,
        type: "function",
        function: { name: call, arguments: input },
      })),
    }),
  };
  return {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
}
