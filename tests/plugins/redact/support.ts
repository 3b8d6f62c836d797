import type { GenerateRequest } from "../../../src/canonical/generate.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../../../src/canonical/operations.ts";
import type { Passed, StageContext } from "../../../src/contract/stage.ts";
import type { RedactOptions } from "../../../plugins/redact/options.ts";
import { createRedaction, type Redaction } from "../../../plugins/redact/stage.ts";

export const ALL: RedactOptions = {
  secrets: true,
  emails: true,
  phones: true,
  creditCards: true,
  ibans: true,
  ipAddresses: true,
  unreadable: [],
  restoreFor: [],
};

const KEY = new Uint8Array(32).fill(7);

export function redactionWith(options: Partial<RedactOptions> = {}, key = KEY): Redaction {
  return createRedaction({ ...ALL, ...options }, key);
}

export function aboutFor(operation: ModelOperation, owner = "me"): StageContext & { notes: string[] } {
  const notes: string[] = [];
  return {
    operation,
    caller: { name: owner, owner },
    lane: "oss",
    model: "m",
    target: "test/m",
    clientWire: "chat",
    signal: new AbortController().signal,
    notes,
    note: (text) => void notes.push(text),
  };
}

/** One request through a stage of its own. */
export async function passed<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  options: Partial<RedactOptions> = {},
  owner?: string,
): Promise<Passed<K>> {
  return await redactionWith(options).request<K>(input, aboutFor(operation, owner));
}

/** A request whose one message is this text. */
export function inMessage(text: string): GenerateRequest {
  return { model: "m", stream: true, messages: [{ role: "user", content: [{ type: "text", text }] }] };
}

/** The first text of a request. */
export function firstText({ messages: [message] }: GenerateRequest): string {
  const [part] = message?.content ?? [];
  return part?.type === "text" ? part.text : "";
}

/** A text as an upstream receives it. */
export async function redacted(text: string, options: Partial<RedactOptions> = {}, owner?: string): Promise<string> {
  return firstText((await passed("generate", inMessage(text), options, owner)).input);
}

/** The events of an answer as the stage passes them on. */
export function restored<K extends ModelOperation>(
  { events }: Passed<K>,
  given: readonly StreamEvent<K>[],
): StreamEvent<K>[] {
  const all: StreamEvent<K>[] = [];
  for (const event of given) {
    if (!events) all.push(event);
    for (const _ of events?.push(event, (one) => void all.push(one)) ?? []);
  }
  return all;
}

export function wholeOf<K extends ModelOperation>({ output }: Passed<K>, answer: Output<K>): Output<K> {
  return output ? output(answer) : answer;
}
