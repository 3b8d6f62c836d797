/** The servers of a simulated world that the gateway asks for models: a search engine, and one whose tools models call. */
import type { JsonObject } from "../../src/canonical/json.ts";
import type { SimulatedTime } from "./clock.ts";
import { markOf, type Servers, type ToolEnd, WITHOUT_EFFECT } from "./rounds.ts";
import { type Ask, isAsk, type Schedule } from "./schedule.ts";

/** One call that ran. */
export interface Ran {
  ask: number;
  mark: string;
  tool: string;
}

interface Session {
  /** The process that has it. */
  owner: number;
  /** Whether that knows of it. */
  isKnown: boolean;
  /** Whether anything was served in it. Another is not forgotten: its process would have met that at once. */
  hasServed: boolean;
}

/** How long a call takes, and one that takes too long, in milliseconds. */
const [TOOL_MS, SLOW_MS] = [700, 9_000];
const LEGACY = "2025-11-25";
const encoder = new TextEncoder();

/** What the server says of a call: marks of chat templates, which are for no model, are not in it. */
export const saidOf = (mark: string): string => `Done ${mark}: "é 😀"\n\n| it is so ${mark};`;

export class ToolServers {
  readonly ran: Ran[] = [];
  readonly #asks: ReadonlyMap<number, Ask>;
  readonly #facts: Servers;
  readonly #time: SimulatedTime;
  readonly #trace: (line: string) => void;
  readonly #sessions = new Map<string, Session>();
  readonly #forgotten = new Set<string>();
  #began = 0;
  #lists = 0;
  #outage = new AbortController();
  #isDown = false;

  constructor({ steps, servers }: Schedule, time: SimulatedTime, trace: (line: string) => void) {
    this.#asks = new Map(steps.filter(isAsk).map((step) => [step.id, step]));
    this.#facts = servers;
    this.#time = time;
    this.#trace = trace;
  }

  /** The sessions that a process knows of. */
  sessionsOf(owner: number): string[] {
    return [...this.#sessions].flatMap(([id, session]) => session.owner === owner && session.isKnown ? [id] : []);
  }

  /** Ends all servers, which begin again after so many milliseconds. */
  end(ms: number): void {
    this.#sessions.clear();
    this.#isDown = true;
    this.#outage.abort(new TypeError("error reading a body: connection reset"));
    this.#outage = new AbortController();
    this.#time.after(() => this.#isDown = false, ms);
  }

  /** The answer to a call of the process with this number. */
  async answer(request: Request, text: string, owner: number): Promise<Response> {
    request.signal.throwIfAborted();
    if (this.#isDown) throw new TypeError("error sending request: connection refused");
    const signal = AbortSignal.any([request.signal, this.#outage.signal]);
    const url = new URL(request.url);
    if (url.hostname.startsWith("search.")) return await this.#search(url.searchParams.get("q")!, signal);
    const id = request.headers.get("mcp-session-id");
    if (request.method === "DELETE") {
      this.#trace(`session ${id} is ended`);
      return new Response(null, { status: this.#sessions.delete(id ?? "") ? 204 : 404 });
    }
    const message = JSON.parse(text);
    this.#trace(`the remote server gets ${message.method} in session ${id}`);
    if (this.#facts.era === "modern") return await this.#serve(message, signal);
    if (message.method === "initialize") return await this.#begin(message, owner, signal);
    if (id === null) return new Response("Bad Request: no session", { status: 400 });
    const session = this.#sessions.get(id);
    if (!session) return new Response("no session", { status: 404 });
    session.isKnown = true;
    if (message.id !== undefined && message.method) return await this.#serve(message, signal, session);
    return new Response(null, { status: 202 });
  }

  async #begin({ id }: JsonObject, owner: number, signal: AbortSignal): Promise<Response> {
    await this.#wait(TOOL_MS / 7, signal);
    const session = `s${++this.#began}`;
    this.#sessions.set(session, { owner, isKnown: false, hasServed: false });
    const result = { protocolVersion: LEGACY, capabilities: {}, serverInfo: { name: "docs", version: "1" } };
    return Response.json({ jsonrpc: "2.0", id, result }, { headers: { "mcp-session-id": session } });
  }

  // deno-lint-ignore no-explicit-any -- messages of the protocol
  async #serve({ id, method, params }: any, signal: AbortSignal, session?: Session): Promise<Response> {
    if (method === "tools/list") {
      const end = this.#facts.lists[this.#lists++] ?? "found";
      return await this.#reply({ id, end, signal }, () => ({ tools: TOOLS }));
    }
    if (method !== "tools/call") {
      return Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
    }
    const { name, arguments: { use, query } } = params;
    const mark = use ?? markIn(query);
    const end = this.#endOf(mark);
    if (end === "forgotten" && session?.hasServed && !this.#forgotten.has(mark)) {
      this.#forgotten.add(mark);
      this.#sessions.clear();
      return new Response("no session", { status: 404 });
    }
    const text = query === undefined ? saidOf(mark) : JSON.stringify({ results: [pageFor(mark)] });
    return await this.#reply({ id, end, signal }, () => {
      if (session) session.hasServed = true;
      this.#run(mark, name);
      return { content: [{ type: "text", text }], ...(end === "failed" && { isError: true }) };
    });
  }

  #run(mark: string, tool: string): void {
    this.#trace(`${tool} runs for ${mark}`);
    this.ran.push({ ask: Number.parseInt(mark), mark, tool });
  }

  #endOf(mark: string): ToolEnd {
    const { id, rounds = [] } = this.#asks.get(Number.parseInt(mark))!;
    const use = rounds.flatMap(({ number, uses }) => uses.map((use, at) => ({ use, mark: markOf(id, number, at) })))
      .find((one) => one.mark === mark)!.use;
    this.#trace(`the call ${mark} ends: ${use.end}`);
    return use.end;
  }

  /** `result`: makes the result, and does what the call does. */
  async #reply(
    { id, end, signal }: { id: number; end: ToolEnd; signal: AbortSignal },
    result: () => JsonObject,
  ): Promise<Response> {
    const refused = await this.#refusal(end, signal);
    if (refused) return refused;
    const answer = end === "refused"
      ? { jsonrpc: "2.0", id, error: { code: -32603, message: "It cannot" } }
      : { jsonrpc: "2.0", id: end === "other" ? id + 1_000 : id, result: result() };
    await this.#wait(end === "silent" ? Infinity : end === "slow" ? SLOW_MS : TOOL_MS / 2, signal);
    const whole = JSON.stringify(answer);
    if (!this.#facts.inStream) return this.#send(end, whole, "application/json");
    const frame = `event: message\ndata: ${whole}\n\n`;
    const before = `: hello\n\nevent: message\ndata: ${JSON.stringify(PROGRESS)}\n\n`;
    return this.#send(end, `${before}${frame}${end === "repeated" ? frame : ""}`, "text/event-stream");
  }

  /** An answer before anything has run. */
  async #refusal(end: ToolEnd, signal: AbortSignal): Promise<Response | undefined> {
    if (end === "unreachable") throw new TypeError("error sending request: connection refused");
    await this.#wait(TOOL_MS / 2, signal);
    if (end === "limiting") return new Response("slow down", { status: 429, headers: { "retry-after": "1" } });
    return end === "failing" ? new Response("no", { status: 500 }) : undefined;
  }

  #send(end: ToolEnd, whole: string, type: string): Response {
    const isCut = end === "cut" || end === "reset" || end === "garbage";
    const text = isCut ? whole.slice(0, whole.length - 20) : whole;
    let isSent = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (!isSent) controller.enqueue(encoder.encode(end === "garbage" ? `${text}\n\n` : text));
        else if (end === "reset") controller.error(new TypeError("error reading a body: connection reset"));
        else controller.close();
        isSent = true;
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": type } });
  }

  async #search(query: string, signal: AbortSignal): Promise<Response> {
    const mark = markIn(query);
    const end = this.#endOf(mark);
    const refused = await this.#refusal(end, signal);
    if (refused) return refused;
    if (WITHOUT_EFFECT.includes(end)) return new Response("no", { status: 500 });
    this.#run(mark, "search");
    await this.#wait(end === "silent" ? Infinity : end === "slow" ? SLOW_MS : TOOL_MS / 2, signal);
    return this.#send(end, JSON.stringify(end === "other" ? [] : { results: [pageFor(mark)] }), "application/json");
  }

  /** Waits so many milliseconds, or until the gateway leaves. */
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = ms === Infinity ? undefined : this.#time.after(resolve, ms);
    const leave = () => {
      this.#time.clear(timer);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", leave));
  }
}

const PROGRESS = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } };

const TOOLS = [
  { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "write", description: "Writes", inputSchema: { type: "object" } },
  { name: "find", inputSchema: { type: "object" } },
];

const markIn = (query: string) => /^#(\d+\.\d+\.\d+)\b/.exec(query)![1]!;

const pageFor = (mark: string) => ({ url: `https://page.test/${mark}`, title: "A page", content: saidOf(mark) });
