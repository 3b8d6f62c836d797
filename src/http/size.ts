/** Limits on the size of what clients send. */
import type { DrawRequest } from "../canonical/draw.ts";
import type { GenerateRequest } from "../canonical/generate.ts";
import { describeExcess, excessInArguments, type JsonLimits } from "../canonical/json_limits.ts";
import { GatewayError } from "../errors.ts";

/** Refuses headers that are longer than any client needs, before they are read. The platform's own limit is about 64 kB. */
export function checkHeaders(headers: Headers, mostBytes: number): void {
  let length = 0;
  // Takes a third of the time of an iterator.
  headers.forEach((value, name) => length += name.length + value.length);
  if (length > mostBytes) throw new GatewayError("headers_too_large", `The headers are longer than ${mostBytes} bytes`);
}

/** The error for a body or message that is larger than its limit. */
export function tooLarge(what: string, limitBytes: number): GatewayError {
  const limit = limitBytes < 2 ** 20
    ? `${limitBytes} bytes`
    : `${Number((limitBytes / 2 ** 20).toFixed(1))} MiB (${limitBytes} bytes)`;
  return new GatewayError("request_too_large", `The ${what} is larger than the limit of ${limit}`);
}

/** Limits on the size of one request. */
export interface SizeLimits {
  /** Pixels of a picture that is to be drawn. */
  imagePixels: number;
  /** Turns. */
  messages: number;
  /** Pieces of content, including those inside tool results. */
  parts: number;
  tools: number;
  /** How much JSON the arguments of all calls together may contain. */
  json: JsonLimits;
}

/** Refuses a conversation that is too large for any model. It is synchronous if the calls are short. Throws `invalid_request`. */
export function checkSize({ messages, tools = [] }: GenerateRequest, limits: SizeLimits): Promise<void> | undefined {
  const refuse = (param: string, count: number, most: number) => {
    throw new GatewayError("invalid_request", `Too many ${param}: ${count}, the limit is ${most}`, { param });
  };
  if (messages.length > limits.messages) refuse("messages", messages.length, limits.messages);
  if (tools.length > limits.tools) refuse("tools", tools.length, limits.tools);
  let parts = 0;
  const calls: string[] = [];
  for (const { content } of messages) {
    parts += content.length;
    for (const part of content) {
      if (part.type === "tool-result") parts += part.content.length;
      else if (part.type === "tool-call" && part.kind === "function") calls.push(part.input);
    }
  }
  if (parts > limits.parts) refuse("parts", parts, limits.parts);
  if (calls.length === 0) return undefined;
  const excess = excessInArguments(calls, limits.json);
  if (!excess) return undefined;
  const refuseArguments = (excess: keyof JsonLimits | undefined) => {
    if (!excess) return;
    throw new GatewayError(
      "invalid_request",
      `The JSON of all calls' arguments ${describeExcess(excess, limits.json)}`,
    );
  };
  return Promise.resolve(excess).then(refuseArguments);
}

/** Refuses pictures that are larger than the gateway lets anybody draw. Throws `invalid_request`. */
export function checkPicture({ size }: DrawRequest, { imagePixels }: Pick<SizeLimits, "imagePixels">): void {
  if (!size || size.width * size.height <= imagePixels) return;
  const message = `A picture of ${size.width}x${size.height} has more pixels than the limit of ${imagePixels}`;
  throw new GatewayError("invalid_request", message, { param: "size" });
}
