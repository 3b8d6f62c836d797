/** The clients of a simulated world: how each asks, and what it got. */
import type { App } from "../../src/app.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { CLIENTS, type Got } from "../support/continued_answers.ts";
import type { SimulatedTime } from "./clock.ts";
import { type Ask, type ClientName, remoteServerIn, SECRETS } from "./schedule.ts";

/** What a client has of its answer. */
export interface Received {
  ask: Ask;
  /** The name of its world. */
  world: string;
  beganAt: number;
  endedAt?: number;
  /** The id of the stored response that it continues, and the request that made it. */
  previous?: { id: string; of: Ask };
  /** The conversation that it belongs to, and the requests that had been answered in it before. */
  conversation?: { id: string; before: Ask[] };
  status?: number;
  headers?: Headers;
  text: string;
  /** Whether the answer is over, or the client has left. */
  isOver: boolean;
  hasLeft: boolean;
  /** Whether its gateway was gone before the end, or had to end it when it stopped. */
  isLost: boolean;
  /** Why the answer broke off, as a failure of the connection. */
  failure?: unknown;
}

const NOT_STREAMED: Partial<Record<ClientName, object>> = { ollama: { stream: false } };

type Tools = Pick<JsonObject, "tools"> & { tools?: JsonObject[] };

/** How a client asks for tools of the gateway, beside its own. */
const HOSTED: Partial<
  Record<ClientName, (own: JsonObject[], searches: boolean, calls: boolean, world: string) => JsonObject>
> = {
  chat: () => ({ web_search_options: {} }),
  messages: (own, searches, calls, world) => ({
    tools: [
      ...own,
      ...(searches ? [{ type: "web_search_20250305", name: "web_search" }] : []),
      ...(calls ? [{ type: "mcp_toolset", mcp_server_name: "docs" }] : []),
    ],
    ...(calls && { mcp_servers: [{ type: "url", name: "docs", url: remoteServerIn(world) }] }),
  }),
  responses: (own, searches, calls) => ({
    tools: [
      ...own,
      ...(searches ? [{ type: "web_search" }] : []),
      ...(calls ? [{ type: "mcp", server_label: "docs", require_approval: "never" }] : []),
    ],
  }),
};

function hostedFor({ ask: { client, rounds = [] }, world }: Received, { tools = [] }: Tools): JsonObject {
  const uses = rounds.flatMap(({ uses }) => uses.map(({ tool }) => tool));
  if (uses.length === 0) return {};
  return HOSTED[client]!(tools, uses.includes("search"), uses.some((tool) => tool !== "search"), world);
}

/** The request of this client. */
export function requestFor(received: Received, signal?: AbortSignal): Request {
  const { client, stream, key } = received.ask;
  const { path } = CLIENTS[client]!;
  return requestAs(key, stream ? path : path.replace("streamGenerateContent?alt=sse", "generateContent"), {
    method: "POST",
    body: JSON.stringify(bodyFor(received)),
    ...(signal && { signal }),
  });
}

/** What it asks. */
export function bodyFor(received: Received): JsonObject {
  const { ask, previous, conversation } = received;
  const { client, stream, says, id, isKept, isBackground, isThread } = ask;
  const { body } = CLIENTS[client]!;
  // A thread keeps the tools that it begins with.
  const hasTools = isThread ? !previous : says.some((said) => "call" in said);
  const tools = hasTools ? ["look", "find"] : undefined;
  const text = JSON.stringify(body({ ...(tools && { tools }) })).replace('"Hello"', JSON.stringify(`#${id} Hello`));
  const plain = JSON.parse(text);
  return {
    ...plain,
    ...(!stream && unstreamed(client)),
    ...hostedFor(received, plain),
    ...(isKept && { store: true }),
    ...(isBackground && { background: true }),
    ...(isThread && { thread: threadOf(previous?.id) }),
    ...(previous && !isThread && { previous_response_id: previous.id }),
    ...(conversation && { conversation: conversation.id }),
  };
}

export function threadOf(previous: string | undefined): JsonObject {
  return previous === undefined ? { type: "create" } : { type: "continue", previous_message_id: previous };
}

/** A request with the secret of this key. */
export function requestAs(key: string, path: string, init: RequestInit = {}): Request {
  const secret = SECRETS[key.toUpperCase()];
  const headers = { ...init.headers, authorization: `Bearer ${secret}`, "content-type": "application/json" };
  return new Request(`http://gateway${path}`, { ...init, headers });
}

function unstreamed(client: ClientName): JsonObject {
  if (client === "gemini") return {};
  return {
    ...NOT_STREAMED[client],
    stream: false,
    ...(client === "chat" && { stream_options: undefined }),
  } as JsonObject;
}

/** How a request comes to a gateway, beside by HTTP. */
export interface Ways {
  /** Finds out what the request needs. */
  begin(): Promise<void>;
  /** Asks on a WebSocket, and leaves that. */
  ask(): Promise<void>;
  leave(): void;
}

/** How often the client of an answer in the background looks for it, and how long, in milliseconds. */
const [LOOK_MS, PATIENCE_MS] = [1_500, 900_000];

/**
 * Asks, and reads the answer as this client does. `gateway`: the one that answers its requests at the moment.
 */
export async function run(
  gateway: () => App,
  received: Received,
  time: SimulatedTime,
  { begin, ask: send, leave }: Ways,
): Promise<void> {
  const { ask } = received;
  const controller = new AbortController();
  let cancel = () => {};
  const leaving = ask.leavesAfter === undefined ? undefined : time.after(() => {
    received.hasLeft = received.isOver = true;
    controller.abort();
    cancel();
  }, ask.leavesAfter);
  try {
    await begin();
    if (received.isOver) return;
    if (ask.socket !== undefined) {
      cancel = leave;
      return await send();
    }
    const response = await gateway().fetch(requestFor(received, controller.signal));
    if (received.isLost) return;
    received.status = response.status;
    received.headers = response.headers;
    if (received.hasLeft) return void response.body?.cancel();
    const reader = response.body?.getReader();
    cancel = () => void reader?.cancel().catch(() => {});
    const decoder = new TextDecoder();
    while (reader && !received.isOver) {
      const { value, done } = await reader.read();
      if (done) break;
      received.text += decoder.decode(value, { stream: true });
      if (ask.readsEvery > 0) await wait(time, ask.readsEvery);
    }
    if (ask.isBackground && received.status === 200) await look(gateway, received, time);
  } catch (thrown) {
    received.failure = thrown;
  } finally {
    received.isOver = true;
    received.endedAt ??= time.now();
    time.clear(leaving);
  }
}

const wait = (time: SimulatedTime, ms: number) => new Promise<void>((resolve) => void time.after(resolve, ms));

/** Looks for an answer in the background until it is over. */
async function look(gateway: () => App, received: Received, time: SimulatedTime): Promise<void> {
  const until = time.now() + PATIENCE_MS;
  while (!received.isOver && ["queued", "in_progress"].includes(JSON.parse(received.text).status)) {
    if (time.now() > until) throw new Error("The answer in the background is never over");
    await wait(time, LOOK_MS);
    const { id } = JSON.parse(received.text);
    const response = await gateway().fetch(requestAs(received.ask.key, `/oss/v1/responses/${id}`));
    const text = await response.text();
    if (response.status === 200) received.text = text;
    else if (response.status !== 503) throw new Error(`${response.status} ${text}`);
  }
}

/** The id of its response, if the gateway promised to have stored that. */
export function storedId(received: Received): string | undefined {
  if (received.ask.isThread) return keptInThread(received);
  return received.ask.isKept ? keptId(received) : undefined;
}

/** The id of a complete answer of a thread, unless it says that it could not be stored. */
function keptInThread(received: Received): string | undefined {
  const { status, headers, text, isOver, hasLeft, isLost, failure } = received;
  if (status !== 200 || !isOver || hasLeft || isLost || failure !== undefined) return undefined;
  const { ends, errors, notes } = gotOf(received);
  if (ends !== 1 || errors > 0) return undefined;
  if (`${headers?.get("x-laneway-notes")}${notes}`.includes("could not store")) return undefined;
  return /"id":"(msg_\w+)"/.exec(text)?.[1];
}

/** The id of a complete response, unless it says that nothing of it could be stored. */
export function keptId({ ask, status, text, isOver, hasLeft, isLost, failure }: Received): string | undefined {
  if (status !== 200 || !isOver || hasLeft || isLost || failure !== undefined) return undefined;
  const last = ask.stream ? /^event: response\.completed\ndata: (.*)$/m.exec(text)?.[1] : text;
  if (last === undefined) return undefined;
  const value = JSON.parse(last);
  const { id, store, status: state } = ask.stream ? value.response : value;
  return state === "completed" && store !== false ? id : undefined;
}

/** The answer as the client understood it. */
export function gotOf({ ask, text, status }: Received): Got {
  const got: Got = { text: "", reasoning: "", calls: [], ends: 0, errors: 0, notes: "" };
  if (status !== 200) return { ...got, errors: 1 };
  if (!ask.stream) {
    readWhole[ask.client](JSON.parse(text), got);
    return got;
  }
  const { read } = CLIENTS[ask.client]!;
  for (const line of text.split("\n")) {
    if (line.startsWith(": notes: ")) got.notes += line.slice(": notes: ".length);
    const json = line.startsWith("data: ") ? line.slice("data: ".length) : line;
    if (json.startsWith("{")) read(JSON.parse(json), got);
  }
  return got;
}

// deno-lint-ignore no-explicit-any -- answers of five wires
type Loose = any;

const readWhole: Record<ClientName, (body: Loose, got: Got) => void> = {
  chat({ choices: [{ message, finish_reason }], usage }, got) {
    got.text = message.content ?? "";
    got.reasoning = message.reasoning_content ?? "";
    for (const { function: { name, arguments: input } } of message.tool_calls ?? []) got.calls.push({ name, input });
    if (finish_reason) got.ends++;
    [got.input, got.output] = [usage.prompt_tokens, usage.completion_tokens];
  },
  messages({ content, stop_reason, usage }, got) {
    for (const { type, text, thinking, name, input } of content) {
      if (type === "text") got.text += text;
      if (type === "thinking") got.reasoning += thinking;
      if (type === "tool_use") got.calls.push({ name, input: JSON.stringify(input) });
    }
    if (stop_reason) got.ends++;
    [got.input, got.output] = [usage.input_tokens, usage.output_tokens];
  },
  responses({ output, status, usage }, got) {
    for (const { type, content = [], summary = [], name, arguments: input } of output) {
      if (type === "message") { for (const { text = "" } of content) got.text += text; }
      if (type === "reasoning") { for (const { text = "" } of [...summary, ...content]) got.reasoning += text; }
      if (type === "function_call") got.calls.push({ name, input });
    }
    if (status === "completed" || status === "incomplete") got.ends++;
    if (status === "failed") got.errors++;
    if (usage) [got.input, got.output] = [usage.input_tokens, usage.output_tokens];
  },
  gemini: CLIENTS.gemini!.read,
  ollama: CLIENTS.ollama!.read,
};
