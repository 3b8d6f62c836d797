/** Files inside requests. Those with text are read; others cannot be. */
import { sniffMedia } from "../../src/canonical/media.ts";
import { GatewayError } from "../../src/errors.ts";
import { builtin } from "../../src/util/builtin.ts";
import type { Medium } from "./options.ts";

const TEXT_TYPE =
  /^(?:text\/|message\/)|[/+](?:json|xml|yaml|x-yaml|csv|javascript|typescript|x-ndjson|jsonl|toml|sql|graphql|x-sh|rtf|x-www-form-urlencoded)(?:$|;)/i;
const NOT_BASE64 = /[^\w+/=\s-]/;

/** Whether the text is in base64. */
export function isBase64(text: string, least: number): boolean {
  return text.length >= least && !NOT_BASE64.test(text);
}

/** The text of a file in base64. `undefined` if it has no text. */
export function textOf(base64: string, mediaType = ""): string | undefined {
  const isText = TEXT_TYPE.test(mediaType);
  if (!isText && (/^(?:image|audio|video)\//.test(mediaType) || mediaTypeOf(base64) !== UNKNOWN)) return undefined;
  const bytes = builtin("node:buffer").Buffer.from(base64, "base64");
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    // deno-lint-ignore no-control-regex -- binary data has such characters
    return /[\0-\x08\x0e-\x1a\x7f]/.test(text.slice(0, 4_096)) && !isText ? undefined : text;
  } catch {
    return undefined;
  }
}

export function base64Of(text: string): string {
  return builtin("node:buffer").Buffer.from(text).toString("base64");
}

export function mediumOf(mediaType: string): Medium {
  const [kind = ""] = mediaType.toLowerCase().split("/");
  return kind === "image" || kind === "audio" || kind === "video" ? kind : "document";
}

/** The media type of a file in base64 by its first bytes. */
export function mediaTypeOf(base64: string): string {
  return sniffMedia(builtin("node:buffer").Buffer.from(base64.slice(0, 128), "base64")) ?? UNKNOWN;
}

const UNKNOWN = "application/octet-stream";

const IN_WORDS: Record<Medium, string> = {
  image: "an image",
  audio: "audio",
  video: "a video",
  document: "a document that is no text",
  tokens: "a text as token ids",
};

/** Throws `invalid_request` unless the configuration lets this kind pass. */
export function refuseUnreadable(medium: Medium, passes: readonly Medium[]): void {
  if (passes.includes(medium)) return;
  const message = `Cannot redact the request: it has ${IN_WORDS[medium]}, which cannot be read; ` +
    `the gateway's operator can let it pass: "redact": { "unreadable": ["${medium}"] }`;
  throw new GatewayError("invalid_request", message, { own: true, tryNextTarget: false, retryable: false });
}
