/** A model of the chat wire that tells what it was told last, and clients of the Responses wire before it. */
import type { TestApp } from "../../support/app.ts";
import { ANSWER, answerStream, ENDING, word } from "../../support/chat.ts";
import { type Asked, type FakeUpstream, fakeUpstream } from "../../support/fake_upstream.ts";

/** What the model says to `text`. */
export function answerTo(text: string): string {
  return `You said ${text}`;
}

/** Who said what, as an upstream of the chat wire was told. Pictures are left out. */
export type Talk = [role: string, text: string][];

interface ChatBody {
  stream?: boolean;
  messages: { role: string; content: string | { text?: string }[] | null }[];
}

export function talkIn(body: string): Talk {
  const { messages }: ChatBody = JSON.parse(body);
  return messages.map(({ role, content }) => [role, textOf(content)]);
}

function textOf(content: ChatBody["messages"][number]["content"]): string {
  return typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("");
}

/** The conversation in which `texts` were said, one after the other, up to the last of them. */
export function talkOf(...texts: string[]): Talk {
  return texts.flatMap((text, index): Talk =>
    index === texts.length - 1 ? [["user", text]] : [["user", text], ["assistant", answerTo(text)]]
  );
}

export function isStreamed(body: string): boolean {
  return (JSON.parse(body) as ChatBody).stream === true;
}

/** The pieces in which `answerTo` comes, as frames of the chat wire, without the end. */
export function framesOf(text: string): string[] {
  return (answerTo(text).match(/\S+\s*/g) ?? []).map(word);
}

export function wholeOf(text: string): object {
  const message = { role: "assistant", content: answerTo(text) };
  return { ...ANSWER, choices: [{ index: 0, message, finish_reason: "stop" }] };
}

export function echoUpstream(): FakeUpstream {
  return fakeUpstream(({ body }: Asked) => {
    const [, text] = talkIn(body).at(-1)!;
    return isStreamed(body) ? answerStream([...framesOf(text), ENDING]) : Response.json(wholeOf(text));
  });
}

/** What the tests read of a response, or of the error in its place. */
export interface Answer {
  id: string;
  status: string;
  store: boolean;
  previous_response_id: string | null;
  output: { id: string; type: string; content?: { text: string }[] }[];
  error: { message: string; type: string; code: string | null; param: string | null } | null;
}

export interface Reply {
  status: number;
  headers: Headers;
  body: Answer;
}

export const RESPONSES = "/oss/v1/responses";

export async function replyOf(response: Response): Promise<Reply> {
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** The answer to `body`, which is given to the fake upstream's model unless it names another one. */
export async function respond(app: TestApp, body: object, headers?: HeadersInit): Promise<Reply> {
  return await replyOf(await app.post(RESPONSES, { model: "model", ...body }, headers));
}

/** What the model said, all of it. */
export function said({ output }: Answer): string {
  return output.flatMap(({ content = [] }) => content).map(({ text }) => text).join("");
}

/** A stream of events, read as a test wants to go on. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<string>;
  /** All that has come. */
  text = "";

  constructor(response: Response) {
    this.#reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Reads on. Nothing more comes where it returns false. */
  async more(): Promise<boolean> {
    const { done, value = "" } = await this.#reader.read();
    this.text += value;
    return !done;
  }

  async until(part: string): Promise<void> {
    while (!this.text.includes(part)) {
      if (!await this.more()) throw new Error(`The stream ended before "${part}" came: ${this.text}`);
    }
  }

  async toEnd(): Promise<string> {
    while (await this.more());
    return this.text;
  }

  /** Leaves, whatever is still to come. */
  leave(): Promise<void> {
    return this.#reader.cancel();
  }

  get last(): Answer | undefined {
    return lastIn(this.text);
  }

  get id(): string | undefined {
    return /"id":"(resp_\w+)"/.exec(this.text)?.[1];
  }
}

/** The response of the terminal event, where that has come whole. */
export function lastIn(text: string): Answer | undefined {
  const [, data] = /^event: response\.(?:completed|incomplete|failed)\ndata: (.*)\n\n/m.exec(text) ?? [];
  return data === undefined ? undefined : JSON.parse(data).response;
}

/** The same as `respond`, streamed. */
export async function respondStreamed(app: TestApp, body: object, headers?: HeadersInit): Promise<Reply> {
  const response = await app.post(RESPONSES, { model: "model", stream: true, ...body }, headers);
  if (!response.headers.get("content-type")?.includes("event-stream")) return await replyOf(response);
  const reader = new EventReader(response);
  await reader.toEnd();
  if (!reader.last) throw new Error(`The stream has no terminal event: ${reader.text}`);
  return { status: response.status, headers: response.headers, body: reader.last };
}

/** Both ways to ask. */
export const WAYS = { whole: respond, streamed: respondStreamed };
