/** Clients of threads, in front of an app in this process. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { framesOf, type Said, wholeOf } from "../../sdk/responses_clients.ts";
import { type ConfigInput, newApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import { answerStream } from "../../support/chat.ts";
import { type Asked, type FakeUpstream, fakeUpstream } from "../../support/fake_upstream.ts";
import { CONFIG, type Mode, PATH } from "../../regressions/support.ts";

export const THREAD_HEADERS = { "anthropic-version": "2023-06-01", "anthropic-beta": "message-threads-2026-08-12" };
export const CREATE = { type: "create" };

export function after(id: string): JsonObject {
  return { type: "continue", previous_message_id: id };
}

export function user(content: unknown): JsonObject {
  return { role: "user", content } as JsonObject;
}

/** The answer to a client: the message of a whole answer or of a stream, or the error in its place. */
export interface Turn {
  status: number;
  id: string;
  content: JsonObject[];
  stop?: string;
  error?: { type: string; message: string; details?: { error_code?: string } };
  notes: string;
}

/** The answer to one request. A stream is put together as the vendor's clients do it. */
export async function turnOf(response: Response): Promise<Turn> {
  const { status, headers } = response;
  const notes = headers.get("x-laneway-notes") ?? "";
  if (!headers.get("content-type")?.includes("event-stream")) {
    const { id, content, stop_reason: stop, error } = await response.json();
    return { status, id, content, stop, error, notes };
  }
  return readTurn(await response.text(), status, notes);
}

export function readTurn(text: string, status = 200, notes = ""): Turn {
  const turn: Turn = { status, id: "", content: [], notes: notes + (/^: .*(could not .*)$/m.exec(text)?.[1] ?? "") };
  for (const [, data] of text.matchAll(/^data: (.*)$/gm)) {
    const event = JSON.parse(data!);
    const block = turn.content[event.index];
    if (event.type === "message_start") turn.id = event.message.id;
    if (event.type === "content_block_start") turn.content[event.index] = event.content_block;
    if (event.type === "content_block_delta") addTo(block!, event.delta);
    if (event.type === "content_block_stop" && typeof block!.partial === "string") {
      const { partial, ...rest } = block!;
      turn.content[event.index] = { ...rest, input: JSON.parse(String(partial || "{}")) };
    }
    if (event.type === "message_delta") turn.stop = event.delta.stop_reason;
    if (event.type === "error") turn.error = event.error;
  }
  return turn;
}

function addTo(block: JsonObject, { type, text, thinking, signature, partial_json }: JsonObject): void {
  if (type === "text_delta") block.text = `${block.text}${text}`;
  if (type === "thinking_delta") block.thinking = `${block.thinking}${thinking}`;
  if (type === "signature_delta") block.signature = signature!;
  if (type === "input_json_delta") block.partial = `${block.partial ?? ""}${partial_json}`;
}

export interface Client {
  app: TestApp;
  upstream: FakeUpstream;
  /** The bodies that the upstream got. */
  bodies(): JsonObject[];
  ask(body: JsonObject, mode?: Mode, headers?: Record<string, string>): Promise<Turn>;
}

/** A client in front of an upstream that says these things, one after the other. */
export function newClient(
  answers: readonly (Said | ((asked: Asked) => Response | Promise<Response>))[],
  { config = CONFIG as ConfigInput, ...options }: TestAppOptions = {},
): Client {
  const upstream = fakeUpstream(...answers.map((one) => typeof one === "function" ? one : answering(one)));
  return clientOf(newApp({ config, fetch: upstream.fetch, ...options }), upstream);
}

export function clientOf(app: TestApp, upstream: FakeUpstream): Client {
  return {
    app,
    upstream,
    bodies: () => upstream.asked.map(({ body }) => JSON.parse(body)),
    ask: async (body, mode = "whole", headers = {}) =>
      await turnOf(await app.post(PATH.messages, asked(body, mode), { ...THREAD_HEADERS, ...headers })),
  };
}

export function asked(body: JsonObject, mode: Mode): JsonObject {
  return { model: "chat", max_tokens: 100, ...body, ...(mode === "streamed" && { stream: true }) };
}

export function answering(said: Said) {
  return ({ body }: { body: string }): Response =>
    JSON.parse(body).stream ? answerStream(framesOf(said)) : Response.json(wholeOf(said));
}

/** Fails unless the request was refused by the code that clients act on. */
export function assertRefused({ status, error }: Turn, code: string, expected = 400): void {
  assertEquals([status, error?.details?.error_code], [expected, code], JSON.stringify(error));
  assertEquals(error?.type, expected === 404 ? "not_found_error" : "invalid_request_error");
}

export function textOf({ content }: Turn): string {
  return content.map(({ text = "" }) => text).join("");
}
