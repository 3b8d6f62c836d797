/** Clients that never cease to ask, and write down what became of each request. */
import { KEYS, SERVED_BY } from "./rig.ts";

export type KeyName = "app" | "limited" | "few";

/** One request. Times are by the clock that never steps, in milliseconds. */
export interface Asked {
  kind: "whole" | "stream" | "turn" | "limited" | "few";
  key: KeyName;
  from: number;
  until: number;
  /** The replica that answered, where an answer began. */
  by?: string;
  /** `refused`: by a limit. */
  end: "served" | "refused" | "failed";
  /** What failed, for people. */
  why?: string;
  inputTokens: number;
  outputTokens: number;
}

/** A turn of a conversation that a client was given. */
export interface Turn {
  id: string;
  /** How many messages the model was sent, and how many it should have been. */
  messages: number;
  expected: number;
}

export interface Found {
  asked: Asked[];
  turns: Turn[];
}

/** How many clients of each kind there are, and how long each waits between two requests, in milliseconds. */
const CROWD: Readonly<Record<Asked["kind"], readonly [clients: number, pauseMs: number]>> = {
  whole: [6, 60],
  stream: [10, 100],
  turn: [6, 100],
  limited: [2, 150],
  few: [9, 20],
};

/** How long a conversation is, in turns. */
const LONGEST = 12;

/** Asks until `signal` is aborted; resolves once the last request is over. */
export async function askUntil(url: string, signal: AbortSignal): Promise<Found> {
  const found: Found = { asked: [], turns: [] };
  const all = Object.entries(CROWD).flatMap(([kind, [clients, pauseMs]]) =>
    Array.from({ length: clients }, async () => {
      const ask = askerOf(kind as Asked["kind"], url, found);
      while (!signal.aborted) {
        found.asked.push(await ask());
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    })
  );
  await Promise.all(all);
  return found;
}

function askerOf(kind: Asked["kind"], url: string, { turns }: Found): () => Promise<Asked> {
  switch (kind) {
    case "whole":
      return () => chat(url, kind, "app", "quick", false);
    case "stream":
      return () => chat(url, kind, "app", "slow", true);
    case "limited":
      return () => chat(url, kind, "limited", "quick", false);
    case "few":
      return () => chat(url, kind, "few", "few", true);
    case "turn":
      return conversing(url, turns);
    default:
      return kind satisfies never;
  }
}

type Answer = Pick<Asked, "inputTokens" | "outputTokens"> & { failure?: string };

async function chat(url: string, kind: Asked["kind"], key: KeyName, model: string, stream: boolean): Promise<Asked> {
  const messages = [{ role: "user", content: "Hello" }];
  const body = { model, messages, stream, ...(stream && { stream_options: { include_usage: true } }) };
  return await ask(`${url}/oss/v1/chat/completions`, kind, key, body, (text) => {
    const isWhole = !stream || text.endsWith("data: [DONE]\n\n");
    const json = stream ? text.match(/^data: (.*"usage":\{.*)$/m)?.[1] : text;
    const { usage } = JSON.parse(isWhole && json || "{}");
    if (!usage) return { inputTokens: 0, outputTokens: 0, failure: `cut: ${text.slice(-200)}` };
    return { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens };
  });
}

/** One client that goes on with its conversation, from the last turn that it was given. */
function conversing(url: string, turns: Turn[]): () => Promise<Asked> {
  let previous: string | undefined;
  let length = 0;
  return async () => {
    if (length === LONGEST) [previous, length] = [undefined, 0];
    const body = { model: "quick", input: "Hello", previous_response_id: previous };
    return await ask(`${url}/oss/v1/responses`, "turn", "app", body, (text) => {
      const { id, output, usage, status } = JSON.parse(text);
      const messages = Number(/messages=(\d+)/.exec(JSON.stringify(output))?.[1]);
      const failure = status === "completed" ? undefined : `status ${status}`;
      if (!failure) turns.push({ id, messages, expected: 2 * length++ + 1 });
      previous = id;
      return { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, failure };
    });
  };
}

async function ask(
  url: string,
  kind: Asked["kind"],
  key: KeyName,
  body: object,
  read: (text: string) => Answer,
): Promise<Asked> {
  const from = performance.now();
  const headers = { "content-type": "application/json", authorization: `Bearer ${KEYS[key]}` };
  let by: string | undefined;
  const over = (end: Asked["end"], more: Partial<Asked> = {}): Asked => ({
    ...{ kind, key, from, until: performance.now(), by, end, inputTokens: 0, outputTokens: 0 },
    ...more,
  });
  try {
    // As a Blob, which Deno never sends a second time by itself.
    const response = await fetch(url, {
      method: "POST",
      headers,
      body: new Blob([JSON.stringify(body)]),
      signal: AbortSignal.timeout(30_000),
    });
    by = response.headers.get(SERVED_BY) ?? undefined;
    const text = await response.text();
    if (response.status === 429) return over("refused");
    if (!response.ok) return over("failed", { why: `${response.status} ${text.slice(0, 200)}` });
    const { failure, ...tokens } = read(text);
    return over(failure ? "failed" : "served", { ...tokens, why: failure });
  } catch (error) {
    return over("failed", { why: `${(error as Error).message} ${(error as Error).cause ?? ""}`.trim() });
  }
}

/** How many of the turns are there. */
export async function countStored(url: string, turns: readonly Turn[]): Promise<number> {
  let stored = 0;
  const rest = [...turns];
  const look = async () => {
    for (let turn = rest.pop(); turn; turn = rest.pop()) {
      const headers = { authorization: `Bearer ${KEYS.app}` };
      const response = await fetch(`${url}/oss/v1/responses/${turn.id}`, { headers });
      await response.body?.cancel();
      if (response.ok) stored++;
    }
  };
  await Promise.all(Array.from({ length: 8 }, look));
  return stored;
}

export interface Used {
  requests: number;
  inputTokens: number;
  outputTokens: number;
}

/** What the gateways say that a key used. */
export async function usageOf(url: string, key: KeyName): Promise<Used> {
  const headers = { authorization: `Bearer ${KEYS.ops}` };
  const { data } = await (await fetch(`${url}/usage?key=${key}&days=2`, { headers })).json();
  return sum(data);
}

export function sum(all: readonly Used[]): Used {
  const total = { requests: 0, inputTokens: 0, outputTokens: 0 };
  for (const { requests, inputTokens, outputTokens } of all) {
    total.requests += requests;
    total.inputTokens += inputTokens;
    total.outputTokens += outputTokens;
  }
  return total;
}
