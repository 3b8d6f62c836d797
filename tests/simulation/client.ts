/** The clients of a simulated world: how each asks, and what it got. */
import type { App } from "../../src/app.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { CLIENTS, type Got } from "../support/continued_answers.ts";
import type { SimulatedTime } from "./clock.ts";
import { type Ask, type ClientName, SECRETS } from "./schedule.ts";

/** What a client has of its answer. */
export interface Received {
  ask: Ask & { id: number; at: number };
  status?: number;
  headers?: Headers;
  text: string;
  /** Whether the answer is over, or the client has left. */
  isOver: boolean;
  hasLeft: boolean;
  /** Why the answer broke off, as a failure of the connection. */
  failure?: unknown;
}

const NOT_STREAMED: Partial<Record<ClientName, object>> = { ollama: { stream: false } };

/** The request of this client. */
export function requestFor({ client, stream, says, id, key }: Received["ask"], signal?: AbortSignal): Request {
  const { path, body } = CLIENTS[client]!;
  const tools = says.some((said) => "call" in said) ? ["look", "find"] : undefined;
  const asked = body({ ...(tools && { tools }) });
  const text = JSON.stringify(asked).replace('"Hello"', JSON.stringify(`#${id} Hello`));
  const streamed = stream ? text : JSON.stringify({ ...JSON.parse(text), ...unstreamed(client) });
  return new Request(
    `http://gateway${stream ? path : path.replace("streamGenerateContent?alt=sse", "generateContent")}`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${SECRETS[key.toUpperCase()]}`, "content-type": "application/json" },
      body: streamed,
      ...(signal && { signal }),
    },
  );
}

function unstreamed(client: ClientName): JsonObject {
  if (client === "gemini") return {};
  return {
    ...NOT_STREAMED[client],
    stream: false,
    ...(client === "chat" && { stream_options: undefined }),
  } as JsonObject;
}

/** Asks, and reads the answer as this client does. */
export async function run(app: App, received: Received, time: SimulatedTime): Promise<void> {
  const { ask } = received;
  const controller = new AbortController();
  let cancel = () => {};
  const leaving = ask.leavesAfter === undefined ? undefined : time.after(() => {
    received.hasLeft = received.isOver = true;
    controller.abort();
    cancel();
  }, ask.leavesAfter);
  try {
    const response = await app.fetch(requestFor(ask, controller.signal));
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
      if (ask.readsEvery > 0) await new Promise<void>((resolve) => void time.after(resolve, ask.readsEvery));
    }
  } catch (thrown) {
    received.failure = thrown;
  } finally {
    received.isOver = true;
    time.clear(leaving);
  }
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
