/** Opening pages by the fetcher, which is a process of its own. */
import type { HostedErrorCode, HostedResult, Page } from "../canonical/hosted.ts";
import { asObject, isJsonObject, type JsonObject, type JsonValue } from "../canonical/json.ts";
import type { Reply } from "../contract/call.ts";
import { GatewayError } from "../errors.ts";
import { type Callee, readReply, send } from "../upstream/send.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { digestOf } from "../util/digest.ts";
import { abortAfter, delay } from "../util/timeout.ts";
import type { OpenPage } from "./runner.ts";

export interface FetchPageOptions {
  /** The fetcher; nothing where none runs. */
  service?: Callee;
  /** How long one page may take, in milliseconds. */
  timeoutMs: number;
  /** The most text of one page, in characters. */
  characters: number;
  /** Milliseconds by a clock that never steps. */
  now(): number;
}

const ANSWER_BYTES = 8 * 2 ** 20;
/** Roughly, of English. */
const CHARACTERS_PER_TOKEN = 4;
/** A fetcher that a page has brought down is up again within a moment, in milliseconds. */
const WAITS_MS = [300, 1_000, 2_500];
/** How often it may be lost with one page before the page is the likely reason. */
const MOST_LOST = 2;
/** How long a page that brought the fetcher down is not tried again, in milliseconds; and how many are remembered. */
const [SPOILING_MS, SPOILING] = [5 * 60_000, 1_000];

export function createOpenPage({ service, timeoutMs, characters, now }: FetchPageOptions): OpenPage {
  const spoiling = new BoundedMap<string, number>(SPOILING);
  const isSpoiling = (page: string) => (spoiling.get(page) ?? -Infinity) > now();
  const remember = (page: string) => spoiling.set(page, now() + SPOILING_MS);
  return async (named, { maxTokens }, { signal, onFailure, owner }) => {
    const [url = named] = named.split("#", 1);
    // What was lost with the fetcher may have been another page: that is remembered for its own caller alone.
    const own = JSON.stringify([owner, url]);
    if (isSpoiling(url) || isSpoiling(own)) return { kind: "error", code: "too_large" };
    const most = maxTokens === undefined
      ? characters
      : Math.min(characters, Math.ceil(maxTokens * CHARACTERS_PER_TOKEN));
    const late = () => new GatewayError("upstream_timeout", `The page did not load within ${timeoutMs} ms`);
    try {
      if (!service) throw new GatewayError("unavailable", "No fetcher is running beside the gateway");
      const caller = owner === undefined ? {} : { caller: digestOf(owner) };
      const body = { url, maxCharacters: Math.max(1, most), ...caller };
      const onLost = () => remember(own);
      const reply = await abortAfter(timeoutMs, signal, (signal) => ask(body, service, signal, onLost), late);
      if (isJsonObject(reply.body) && reply.body.isSpoiling === true) remember(url);
      return resultOf(reply);
    } catch (reason) {
      signal.throwIfAborted();
      onFailure(reason);
      const isLate = reason instanceof GatewayError && reason.code === "upstream_timeout";
      return { kind: "error", code: isLate ? "not_accessible" : "unavailable" };
    }
  };
}

/** As often as the fetcher may be about to come back: nothing is changed by asking again. */
async function ask(body: JsonObject, service: Callee, signal: AbortSignal, onLost: () => void): Promise<Reply> {
  for (let tries = 0, lost = 0;; tries++) {
    try {
      return await readReply(await send({ path: "fetch", body }, service, signal), ANSWER_BYTES);
    } catch (reason) {
      if (isLost(reason)) lost++;
      if (lost >= MOST_LOST) onLost();
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined || lost >= MOST_LOST) throw reason;
      await delay(waitMs, signal);
    }
  }
}

/** Whether the fetcher was there and has gone. */
function isLost(reason: unknown): boolean {
  if (!(reason instanceof GatewayError) || reason.code !== "upstream_error") return false;
  return !reason.details.notProcessed && reason.details.retryable !== false;
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
  const { error, url, title, text, mediaType, retrievedAt } = asObject(body);
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
