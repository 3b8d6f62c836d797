import {
  delivered,
  type DrawRequest,
  type DrawResponse,
  type DrawUsage,
  type Picture,
  pictureIn,
  pictureInText,
} from "../../src/canonical/draw.ts";
import { present } from "../../src/canonical/json.ts";
import { reportedTotals } from "../../src/canonical/usage.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import type { Context } from "../../src/contract/context.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { answerSchema, type WireUsage } from "./wire.ts";

/** The call for a picture, if the answer has only its address and the client wants its contents. */
export function fetchOnly({ body }: Reply, { wantsUrl }: DrawRequest): Call | undefined {
  const { data } = accept(answerSchema, body) ?? {};
  const [only] = data ?? [];
  if (wantsUrl || data?.length !== 1 || !only?.url || only.b64_json) return undefined;
  // Some servers put a data URL here.
  return only.url.startsWith("data:") ? undefined : { url: only.url };
}

/** Parses an upstream's pictures, one at a time, because a picture has megabytes. */
export function parseResponse(
  replies: readonly Reply[],
  input: DrawRequest,
  context: Context,
): SlicedWork<DrawResponse> {
  return parseReply(replies, input, context);
}

function* parseReply(
  [reply]: readonly Reply[],
  input: DrawRequest,
  context: Context,
): SlicedWork<DrawResponse> {
  const { body } = reply!;
  // The contents of the only picture, which was fetched from its address.
  if (body instanceof Uint8Array) {
    const pictures = delivered([pictureIn(body)], input, context.note);
    return { pictures, usage: { pictures: pictures.length } };
  }
  if (saysError(body)) throw upstreamStreamError(body);
  const answer = accept(answerSchema, body);
  if (!answer) throw new GatewayError("upstream_error", "The upstream's answer is not a list of pictures");
  const read: Picture[] = [];
  for (const one of answer.data.slice(0, input.count)) {
    read.push({ ...pictureOf(one), ...present("revisedPrompt", one.revised_prompt) });
    yield;
  }
  const pictures = delivered(read, input, context.note);
  const { quality, background, usage } = answer;
  return {
    pictures,
    ...present("quality", quality),
    ...present("background", background),
    usage: parseUsage(usage, pictures.length),
  };
}

/** A picture as an answer or an event has it. Throws `upstream_error` if there is none. */
export function pictureOf({ b64_json, url }: { b64_json?: string | null; url?: string | null }): Picture {
  if (b64_json) return pictureInText(b64_json);
  if (url?.startsWith("data:")) return pictureInText(url);
  if (url && /^https?:\/\//i.test(url)) return { url };
  throw new GatewayError("upstream_error", "The upstream's answer has an entry without a picture");
}

export function parseUsage(usage: WireUsage, pictures: number): DrawUsage {
  return {
    ...reportedTotals(usage?.input_tokens, usage?.output_tokens, usage?.total_tokens),
    pictures,
    ...present("inputImageTokens", usage?.input_tokens_details?.image_tokens),
  };
}
