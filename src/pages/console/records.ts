/** Recorded requests, as the console shows them. Secrets that the gateway knows are masked. */
import type { CapturedBytes } from "../../context/captured_bytes.ts";
import type { Capture, CapturedCall } from "../../context/capture.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { maskedHeaders } from "../../context/header_redaction.ts";
import { GatewayError } from "../../errors.ts";
import { runSliced, type SlicedWork } from "../../util/sliced_work.ts";
import { type HideLong, hiderOf } from "./masked_text.ts";

/** The most bytes of a body that the page shows. The whole body can be saved. */
const MOST_SHOWN = 262_144;

/** The kept part of a body. */
interface Shown {
  /** The bytes that passed. */
  bytes: number;
  /** How many of them are kept, from the first one on. */
  kept: number;
  /** Absent if the bytes are no text. */
  text?: string;
  /** Whether `text` is shorter than the kept part. */
  isShortened?: true;
  /** Whether it is a description instead of the bytes themselves, as for forms and files. */
  isDescription?: true;
}

/** The list of records, newest first, and the limits within which requests are recorded. */
export function records({ gateway: { observe: { captures } }, hide }: RequestContext): Response {
  const { loaded } = captures ?? {};
  return Response.json({
    bounds: loaded?.bounds,
    bytes: loaded?.bytes ?? 0,
    passed: loaded?.passed ?? 0,
    data: loaded?.all().map(({ capture, bytes }) => ({ ...summaryOf(capture, hide), bytes })) ?? [],
  });
}

const LONGEST_CLIENT = 100;

function summaryOf(one: Capture, hide: (text: string) => string) {
  const { id, started, status: sent, entry, caller, url, calls, headers } = one;
  // The answer to a turn of a WebSocket has no head.
  const { key = caller.name, lane, protocol, model, target, error, durationMs, stream, status = sent } = entry ?? {};
  const [, agent] = headers.find(([name]) => name === "user-agent") ?? [];
  return {
    id,
    time: new Date(started).toISOString(),
    key,
    client: agent && hide(agent.slice(0, LONGEST_CLIENT)),
    path: new URL(url).pathname,
    lane,
    protocol,
    model,
    target,
    error,
    durationMs,
    stream,
    status,
    calls: calls.length,
  };
}

/** One whole record. Its texts are collected first and masked afterwards, because more of it may arrive meanwhile. */
export async function record(context: RequestContext): Promise<Response> {
  const one = recordOf(context);
  const { id, started, method, url, headers, body, calls, events, answer, status, answerHeaders, entry } = one;
  const { signal } = context;
  const hide = await runSliced(hiderOf(one), signal);
  const found: { part: Shown; text: Found }[] = [];
  const shown = (capture: CapturedBytes) => {
    const part = partOf(capture);
    const text = capturedText(capture, MOST_SHOWN);
    if (text) found.push({ part, text });
    return part;
  };
  const { pathname, search } = new URL(url);
  const view = {
    id,
    time: new Date(started).toISOString(),
    client: { method, url, path: pathname + search, headers, body: shown(body) },
    calls: calls.map((call) => ({
      ...call,
      answerHeaders: call.answerHeaders && maskedHeaders(call.answerHeaders),
      body: shown(call.body),
      answer: shown(call.answer),
    })),
    events,
    answer: {
      status: status ?? entry?.status,
      headers: answerHeaders && maskedHeaders(answerHeaders),
      body: shown(answer),
    },
    entry,
    elapsedMs: entry ? undefined : Math.max(0, context.gateway.clocks.now() - started),
  };
  for (const { part, text } of found) part.text = await runSliced(masked(text, hide), signal);
  // This masks headers, URLs and errors as well.
  const text = await runSliced(hide(JSON.stringify(view)), signal);
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** The text of one body, to be saved: `?part=request`, `answer`, `call.0.request` or `call.0.answer`. */
export async function recordedText(context: RequestContext): Promise<Response> {
  const one = recordOf(context);
  const part = context.url!.searchParams.get("part") ?? "";
  const capture = captureOf(part, one);
  const text = capture && capturedText(capture);
  if (!text) throw new GatewayError("not_found", `There is no text for the part "${part}"`);
  const { signal } = context;
  const hide = await runSliced(hiderOf(one), signal);
  return new Response(await runSliced(masked(text, hide), signal), {
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": `attachment; filename="${one.id}.${part}.txt"`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
    },
  });
}

/** The record that the URL names. Throws `not_found` if it is no longer kept. */
export function recordOf({ gateway: { observe: { captures } }, url }: RequestContext): Capture {
  const found = captures?.loaded?.of(url!.searchParams.get("id") ?? "");
  if (found) return found;
  throw new GatewayError(
    "not_found",
    "The request is not recorded here: it was dropped, too many came at that time, or another process has it",
  );
}

function captureOf(part: string, { body, answer, calls }: Capture): CapturedBytes | undefined {
  if (part === "request") return body;
  if (part === "answer") return answer;
  const [, index, side] = /^call\.(\d{1,4})\.(request|answer)$/.exec(part) ?? [];
  const call: CapturedCall | undefined = calls[Number(index)];
  return side === "request" ? call?.body : call?.answer;
}

function partOf({ length: bytes, kept, isDescription }: CapturedBytes): Shown {
  return { bytes, kept, ...(kept > MOST_SHOWN && { isShortened: true }), ...(isDescription && { isDescription }) };
}

/** The beginning of a body, or all of it. */
interface Found {
  text: string;
  isCut: boolean;
}

/** The text of the first `most` bytes. `undefined` if they are no text. */
function capturedText(capture: CapturedBytes, most = Infinity): Found | undefined {
  const bytes = capture.bytes().subarray(0, most);
  const isCut = bytes.length < capture.length;
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut }), isCut };
  } catch {
    return undefined;
  }
}

/** The masked text. Its end may be cut off within a secret. */
function* masked({ text, isCut }: Found, hide: HideLong): SlicedWork<string> {
  return isCut ? (yield* hide(`${text}…`)).replace(/…$/, "") : yield* hide(text);
}
