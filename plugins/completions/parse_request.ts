import type { CompleteRequest } from "../../src/canonical/complete.ts";
import { extraField } from "../../src/canonical/extra.ts";
import { asObject, copyRenamed, isJsonObject, present } from "../../src/canonical/json.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import {
  type CompletionsRequest,
  MOST_COMPLETIONS,
  MOST_ECHOED,
  MOST_PROMPTS,
  REQUEST_KEYS,
  requestSchema,
  WIRE,
} from "./wire.ts";

/** A client's request for completions. `null` means absent. */
export function parseRequest(received: unknown): CompleteRequest {
  // Token ids can be very many, so they are checked without a schema.
  const { prompt, ...rest } = asObject(received);
  const body = validate(requestSchema, isJsonObject(received) ? rest : received);
  const prompts = parsePrompts(prompt);
  const counts = parseCounts(body);
  checkVolume(prompts, counts, body.echo ?? false);
  return {
    model: body.model,
    prompts,
    ...present("suffix", body.suffix),
    stream: body.stream ?? false,
    ...counts,
    ...(body.echo && { echo: true }),
    ...parseLogprobs(body.logprobs),
    ...present("maxOutputTokens", body.max_tokens),
    ...copyRenamed(body, CHAT_SAMPLING.parsed),
    ...present("seed", body.seed),
    ...parseStop(body.stop),
    ...extraField(WIRE, body, REQUEST_KEYS),
  };
}

function parseCounts(
  { n, best_of: bestOf, stream }: Pick<CompletionsRequest, "n" | "best_of" | "stream">,
): Pick<CompleteRequest, "count" | "bestOf"> {
  const count = n ?? 1;
  if (bestOf && bestOf < count) throw invalid("best_of", `Expected at least ${count}, as "n" says`);
  if (bestOf && bestOf > count && stream) throw invalid("best_of", "Cannot stream the best of several completions");
  return { ...(count > 1 && { count }), ...(bestOf && bestOf > 1 && { bestOf }) };
}

/** A short request must not ask for an answer that fills the memory. */
function checkVolume(
  prompts: CompleteRequest["prompts"],
  { count = 1, bestOf = count }: Pick<CompleteRequest, "count" | "bestOf">,
  echo: boolean,
): void {
  const completions = prompts.length * bestOf;
  if (completions > MOST_COMPLETIONS) {
    const param = bestOf > count ? "best_of" : "n";
    throw invalid(param, `Expected at most ${MOST_COMPLETIONS} completions of all prompts, not ${completions}`);
  }
  const echoed = echo ? count * prompts.reduce((sum, { length }) => sum + length, 0) : 0;
  if (echoed > MOST_ECHOED) {
    throw invalid("echo", `Expected at most ${MOST_ECHOED} characters of all echoes, not ${echoed}`);
  }
}

/** With the switch of the chat wire, those of the chosen tokens. */
function parseLogprobs(value: CompletionsRequest["logprobs"]): Pick<CompleteRequest, "logprobs"> {
  if (value === undefined || value === null || value === false) return {};
  return { logprobs: value === true ? 0 : value };
}

/** No server stops at an empty text. */
export function parseStop(stop: string | readonly string[] | null | undefined): { stopSequences?: string[] } {
  const sequences = (typeof stop === "string" ? [stop] : stop ?? []).filter((one) => one !== "");
  return sequences.length > 0 ? { stopSequences: sequences } : {};
}

/** A text, a list of texts, a list of token ids, or a list of such lists. */
function parsePrompts(prompt: unknown): CompleteRequest["prompts"] {
  if (prompt === undefined || prompt === null) return [""];
  if (typeof prompt === "string") return [prompt];
  if (!Array.isArray(prompt)) throw invalid("prompt", "Expected a text, a list of texts, or token ids");
  if (prompt.length === 0) throw invalid("prompt", "Expected at least one prompt");
  if (typeof prompt[0] === "number") return [parseIds(prompt, "prompt")];
  if (prompt.length > MOST_PROMPTS) {
    throw invalid("prompt", `Expected at most ${MOST_PROMPTS} prompts, not ${prompt.length}`);
  }
  const parse = typeof prompt[0] === "string" ? parseText : parseIds;
  return prompt.map((one, index) => parse(one, `prompt[${index}]`));
}

function parseText(text: unknown, param: string): string {
  if (typeof text !== "string") throw invalid(param, "Expected a text, as the first prompt is one");
  return text;
}

function parseIds(ids: unknown, param: string): number[] {
  if (!Array.isArray(ids) || ids.length === 0) throw invalid(param, "Expected a text or a list of token ids");
  const wrong = ids.findIndex((id) => !Number.isSafeInteger(id) || id < 0);
  if (wrong >= 0) throw invalid(`${param}[${wrong}]`, "Expected a token id, which is an integer from 0");
  return ids;
}

export function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `Invalid value at "${param}": ${message}`, { param });
}
