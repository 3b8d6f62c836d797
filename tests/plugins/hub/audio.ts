/** Helpers that the tests of the hub's audio drivers share. */
import { assertEquals } from "@std/assert";
import type { SpeechRequest, TranscriptionRequest } from "../../../src/canonical/audio.ts";
import type { JsonValue } from "../../../src/canonical/json.ts";
import type { Input } from "../../../src/canonical/operations.ts";
import type { Call, Reply } from "../../../src/contract/call.ts";
import type { Driver, LocalOperation, Target, UpstreamOperation } from "../../../src/contract/driver.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newContext } from "../../support/context.ts";

export const WAV = new TextEncoder().encode("RIFF\x24\0\0\0WAVEfmt ");
export const FLAC = new TextEncoder().encode("fLaC\0\0\0\x22");

export function newTarget(model: string, quirks: Partial<Target> = {}): Target {
  return { upstream: "hub", model, systemMessages: "first", ...quirks };
}

export function newSpeech(fields: Partial<SpeechRequest> = {}): SpeechRequest {
  return { model: "tts", text: "Good day", format: "wav", stream: false, ...fields };
}

export function newTranscription(fields: Partial<TranscriptionRequest> = {}): TranscriptionRequest {
  const file = { bytes: WAV, name: "a.wav", mediaType: "audio/wav" };
  return { model: "asr", file, format: "json", stream: false, ...fields };
}

export function newReply(body: JsonValue | Uint8Array<ArrayBuffer>, type?: string, status = 200): Reply {
  return { status, headers: new Headers(type ? { "content-type": type } : {}), body };
}

/** The driver's operation, which is known to be asked over the network. */
export function wayOf<K extends "speak" | "transcribe">({ operations }: Driver, name: K): UpstreamOperation<K> {
  const way: UpstreamOperation<K> | LocalOperation<K> | undefined = operations[name];
  if (!way || "local" in way) throw new Error(`No upstream operation "${name}"`);
  return way;
}

/** The one call that a request becomes, its body as JSON where it is JSON, and what was noted on the way. */
export async function ask<K extends "speak" | "transcribe">(
  way: UpstreamOperation<K>,
  input: Input<K>,
  target: Target,
) {
  const context = newContext();
  const calls = [way.request(input, target, context)].flat();
  assertEquals(calls.length, 1);
  const { body, ...call } = calls[0]!;
  return { call: { ...call, body: body instanceof Blob ? JSON.parse(await body.text()) : body }, notes: context.notes };
}

/** Runs the replies through `next` as the core does: the calls that follow, and what the last reply is read as. */
export function follow<K extends "speak" | "transcribe">(
  way: UpstreamOperation<K>,
  replies: Reply[],
  input: Input<K>,
  target = newTarget("m"),
) {
  const context = newContext();
  const calls: Call[] = [];
  for (const [step, reply] of replies.entries()) {
    const call = reply.stream ? undefined : way.next?.(reply, input, step);
    if (call) calls.push(call);
    else assertEquals(step, replies.length - 1, "a reply was left over");
  }
  assertEquals(calls.length, replies.length - 1, "a call was not answered");
  return { calls, output: way.response([replies.at(-1)!], input, target, context), notes: context.notes };
}

/** The code and the message of the error that it throws. */
export async function failure(run: () => unknown): Promise<[code: string, message: string]> {
  try {
    await run();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [thrown.code, thrown.message];
    throw thrown;
  }
  throw new Error("It did not fail");
}
