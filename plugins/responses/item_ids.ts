/** The ids of items: those that the gateway gives, and those to which a vendor binds encrypted reasoning. */
import type { ItemReference, Message, OutputPart } from "../../src/canonical/generate.ts";
import { GatewayError } from "../../src/errors.ts";

/** The beginning of an item's id, as on the vendor's own API. */
const PREFIX_OF: Record<OutputPart["type"], string> = {
  "text": "msg",
  "refusal": "msg",
  "reasoning": "rs",
  "tool-call": "fc",
  "file": "msg",
  "hosted": "ws",
  "opaque": "msg",
};

const OF_RESPONSE = /^resp_/;

/** The id of a part of an answer: the same in a stream, in the whole, and when it is asked for again. */
export function partId(answer: string, part: OutputPart, index: number): string {
  const prefix = part.type === "tool-call" && part.kind === "custom" ? "ctc" : PREFIX_OF[part.type];
  return `${prefix}_${answer.replace(OF_RESPONSE, "")}_${index}`;
}

/** The id of a message of a request, as lists of its items tell it. */
export function messageId(answer: string, { role, content }: Message, index: number): string {
  const [first] = content;
  const prefix = role === "tool"
    ? "fco"
    : first && first.type !== "tool-result"
    ? partId("", first, 0).split("_")[0]
    : "msg";
  return `${prefix}_${answer.replace(OF_RESPONSE, "")}_in${index}`;
}

export function parseItemId(id: string, param: string): Pick<ItemReference, "answer" | "item"> {
  const [, answer, input, index] = /^[a-z]+_(\w+)_(in)?(\d+)$/.exec(id) ?? [];
  if (answer === undefined) throw new GatewayError("invalid_request", `Item with id '${id}' not found`, { param });
  return { answer: `resp_${answer}`, item: input ? { message: Number(index) } : { part: Number(index) } };
}

const ENCRYPTED = /^(rs_[\w-]+):(.*)$/s;

/** The vendor binds encrypted reasoning to the id of its item, so both travel as one text. */
export function joinEncrypted(id: unknown, data: string): string {
  const joined = ENCRYPTED.test(data);
  return typeof id === "string" && ENCRYPTED.test(`${id}:`) && !joined ? `${id}:${data}` : data;
}

export function splitEncrypted(text: string): { id?: string; encrypted_content: string } {
  const [, id, data] = ENCRYPTED.exec(text) ?? [];
  return id !== undefined && data !== undefined ? { id, encrypted_content: data } : { encrypted_content: text };
}
