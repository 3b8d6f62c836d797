/** Opening pages by the fetcher, which is a process of its own. */
import type { HostedErrorCode, HostedResult, Page } from "../canonical/hosted.ts";
import { isJsonObject, type JsonValue } from "../canonical/json.ts";
import type { Reply } from "../contract/call.ts";
import { GatewayError } from "../errors.ts";
import { readReply, send, type Service } from "../upstream/send.ts";
import { abortAfter, delay } from "../util/timeout.ts";
import type { OpenPage } from "./runner.ts";

export interface FetchPageOptions {
  /** The fetcher; nothing where none runs. */
  service?: Service;
  /** How long one page may take, in milliseconds. */
  timeoutMs: number;
  /** The most text of one page, in characters. */
  characters: number;
}

const ANSWER_BYTES = 8 * 2 ** 20;
/** Roughly, of English. */
const CHARACTERS_PER_TOKEN = 4;
/** A fetcher that a page has brought down is up again within a moment, in milliseconds. */
const WAITS_MS = [300, 1_000, 2_500];

export function createOpenPage({ service, timeoutMs, characters }: FetchPageOptions): OpenPage {
  return async (url, { maxTokens }, { signal, onFailure }) => {
    const most = maxTokens === undefined
      ? characters
      : Math.min(characters, Math.ceil(maxTokens * CHARACTERS_PER_TOKEN));
    const late = () => new GatewayError("upstream_timeout", `The page did not load within ${timeoutMs} ms`);
    try {
      if (!service) throw new GatewayError("unavailable", "No fetcher is running beside the gateway");
      const body = { url, maxCharacters: Math.max(1, most) };
      return resultOf(await abortAfter(timeoutMs, signal, (signal) => ask(body, service, signal), late));
    } catch (reason) {
      signal.throwIfAborted();
      onFailure(reason);
      const isLate = reason instanceof GatewayError && reason.code === "upstream_timeout";
      return { kind: "error", code: isLate ? "not_accessible" : "unavailable" };
    }
  };
}

/** As often as the fetcher may be about to come back: nothing is changed by asking again. */
async function ask(
  body: { url: string; maxCharacters: number },
  service: Service,
  signal: AbortSignal,
): Promise<Reply> {
  for (let tries = 0;; tries++) {
    try {
      return await readReply(await send({ path: "fetch", body }, service, signal), ANSWER_BYTES);
    } catch (reason) {
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined) throw reason;
      await delay(waitMs, signal);
    }
  }
}

const CODES: ReadonlySet<unknown> = new Set<HostedErrorCode>([
  "invalid_input",
  "too_many_requests",
  "too_long",
  "not_allowed",
  "not_accessible",
  "unsupported_type",
  "too_large",
]);

function resultOf({ status, body }: Reply): HostedResult {
  if (status !== 200) throw new GatewayError("upstream_error", `The fetcher answered with status ${status}`);
  const { error, url, title, text, mediaType, retrievedAt } = isJsonObject(body) ? body : {};
  if (CODES.has(error)) return { kind: "error", code: error as HostedErrorCode };
  if (typeof url !== "string" || typeof text !== "string") {
    throw new GatewayError("upstream_error", "The fetcher's answer contains no page");
  }
  const page: Page = { url, text, mediaType: textOr(mediaType, "text/plain") };
  if (typeof title === "string") page.title = title;
  if (typeof retrievedAt === "string") page.retrievedAt = retrievedAt;
  return { kind: "page", page };
}

function textOr(value: JsonValue | undefined, other: string): string {
  return typeof value === "string" ? value : other;
}
