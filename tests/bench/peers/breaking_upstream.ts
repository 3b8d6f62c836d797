/**
 * An upstream of the chat wire whose streams break off after some words, each as its conversation says, and that continues a turn
 * of the assistant honestly: with the words that come next, once.
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Random } from "../../simulation/random.ts";
import { delay } from "../../support/wait.ts";

export const BREAKS = ["none", "reset", "end", "garbage", "error", "stall"] as const;
export type Break = typeof BREAKS[number];

/** What the model says in one conversation, and before which of its words it breaks off: at first, and as it continues. */
export interface Conversation {
  words: readonly string[];
  how: Break;
  cuts: readonly [number, number | undefined];
}

const TEXT = [
  "The cafés of Zürich are “open” late; 世界 🌍 is not.\n\n",
  "Take three steps, and then one more:\n\n1. Read what it says.\n2. Write less than that.\n\n",
  "```ts\nfunction add(a: number, b: number) {\n  if (a > b) {\n    return a + b;\n  }\n  return 'none';\n}\n```\n\n",
  "That is all that there is to say about it, so far, and it is enough for now.\n\n",
];
/** As models' vocabularies have it: a space belongs to the word after it. */
const WORD = /\n+| +(?= )| ?[^ \n]+/g;
const WORD_MS = 4;

/** One in `1 / again` continuations breaks off, too. */
export function conversationOf(seed: number, name: string, how: Break, again: number): Conversation {
  const random = new Random(seed, name, how);
  const paragraphs = Array.from({ length: 3 }, () => random.pick(TEXT));
  const words = [...`${name}. ${paragraphs.join("")}`.trimEnd().matchAll(WORD)].map(([word]) => word);
  const first = random.int(2, words.length - 4);
  const second = random.chance(again) ? random.int(first + 2, words.length - 1) : undefined;
  return { words, how, cuts: [first, second] };
}

interface Message {
  role: string;
  content: string | { text?: string }[] | null;
}

interface Body {
  messages: Message[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

export class BreakingUpstream {
  readonly #conversations: ReadonlyMap<string, Conversation>;
  readonly #calls = new Map<string, number>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(conversations: ReadonlyMap<string, Conversation>) {
    this.#conversations = conversations;
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** How many calls a conversation took. */
  callsOf(name: string): number {
    return this.#calls.get(name) ?? 0;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {}); // whoever called has gone
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const body: Body = JSON.parse(Buffer.concat(pieces).toString() || '{"messages":[]}');
    const name = body.messages.map(textOf).join("\n").match(/conversation=(\S+)/)?.[1] ?? "";
    const conversation = this.#conversations.get(name);
    if (!body.stream || !conversation) return void sendWhole(response);
    const call = this.callsOf(name);
    this.#calls.set(name, call + 1);
    const begun = body.messages.findLast(({ role }) => role === "assistant");
    const rest = restOf(conversation.words, begun ? textOf(begun) : "");
    const cut = conversation.how === "none" ? undefined : conversation.cuts[call];
    const left = conversation.words.length - (cut ?? conversation.words.length);
    const usage = body.stream_options?.include_usage === true;
    await sendStream(response, rest, cut === undefined ? undefined : rest.length - left, conversation.how, usage);
  }
}

function textOf({ content }: Message): string {
  return typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("");
}

/** The words after what was already said. A model that reads another text begins from the start. */
function restOf(words: readonly string[], begun: string): string[] {
  let said = 0;
  const rest: string[] = [];
  const isOurs = words.join("").startsWith(begun);
  for (const word of words) {
    const known = isOurs ? Math.min(word.length, Math.max(0, begun.length - said)) : 0;
    if (known < word.length) rest.push(word.slice(known));
    said += word.length;
  }
  return rest;
}

const ENVELOPE = { id: "chatcmpl-1", object: "chat.completion", created: 1_795_220_295, model: "bench" };
const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  frame({ ...ENVELOPE, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
const FAILURE = { error: { message: "The engine died", type: "server_error", param: null, code: 500 } };
const DONE = "data: [DONE]\n\n";

function sendWhole(response: ServerResponse): void {
  const choices = [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ...ENVELOPE, choices, usage }));
}

async function sendStream(
  response: ServerResponse,
  words: readonly string[],
  cut: number | undefined,
  how: Break,
  withUsage: boolean,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk({ role: "assistant", content: "" }));
  for (const [at, content] of words.entries()) {
    await delay(WORD_MS);
    const event = chunk({ content });
    if (at !== cut) response.write(event);
    else if (how === "garbage") response.write(`${event.slice(0, -20)}\n\n`); // and it goes on with the next word
    else return await breakOff(response, how, event);
  }
  const usage = { prompt_tokens: 5, completion_tokens: words.length, total_tokens: 5 + words.length };
  response.write(chunk({}, "stop"));
  if (withUsage) response.write(frame({ ...ENVELOPE, object: "chat.completion.chunk", choices: [], usage }));
  response.end(DONE);
}

async function breakOff(response: ServerResponse, how: Break, event: string): Promise<void> {
  switch (how) {
    case "reset":
      response.write(event.slice(0, 30));
      await delay(WORD_MS); // what was written arrives before
      response.socket?.resetAndDestroy();
      return;
    case "end":
      return void response.end();
    case "error":
      return void response.end(frame(FAILURE) + DONE);
    case "stall":
      return; // open and silent
  }
}
