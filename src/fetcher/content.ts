/** What the bytes of an answer are: their type, and their letters. */

export type Kind = "html" | "pdf" | "text";

const TEXTS = /^(text\/(plain|markdown|x-markdown|csv)|application\/([\w.+-]+\+)?json)$/;

export interface ContentType {
  mediaType: string;
  charset?: string;
}

export function contentTypeOf(header: string | null): ContentType {
  const [type = "", ...parameters] = (header ?? "").slice(0, 500).split(";");
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"\s]+)/i.exec(one)?.[1]).find(Boolean);
  return { mediaType: type.trim().toLowerCase(), ...(charset && { charset }) };
}

/** How the bytes are read; nothing where nobody here can. An answer without a type is what it looks like. */
export function kindOf(mediaType: string, bytes: Uint8Array): Kind | undefined {
  if (mediaType === "application/pdf") return startsWith(bytes, "%PDF-") ? "pdf" : undefined;
  if (mediaType === "" && startsWith(bytes, "%PDF-")) return "pdf";
  if (!isText(bytes)) return undefined;
  if (mediaType === "text/html" || mediaType === "application/xhtml+xml") return "html";
  if (TEXTS.test(mediaType)) return "text";
  return mediaType === "" && /^\s*<(!doctype html|html|head|body)\b/i.test(latin1(bytes, 500)) ? "html" : undefined;
}

/** A PDF may stand a little after the beginning. */
function startsWith(bytes: Uint8Array, text: string): boolean {
  return latin1(bytes, 1_024).includes(text);
}

/** Text holds no zero bytes, but for that of 16 bits. */
function isText(bytes: Uint8Array): boolean {
  return markOf(bytes) !== undefined || !bytes.subarray(0, 2_048).includes(0);
}

function markOf([a, b, c]: Uint8Array): string | undefined {
  if (a === 0xef && b === 0xbb && c === 0xbf) return "utf-8";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  if (a === 0xff && b === 0xfe) return "utf-16le";
  return undefined;
}

/** The text in the bytes: by their mark, else by the header, else by the page itself, else as UTF-8 or what was usual before it. */
export function decodeText(bytes: Uint8Array, charset: string | undefined, kind: Kind): string {
  const named = [markOf(bytes), charset, kind === "html" ? charsetInPage(latin1(bytes, 4_096)) : undefined];
  for (const label of named) {
    const decoder = label === undefined ? undefined : decoderFor(label);
    if (decoder) return decoder.decode(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function decoderFor(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined; // there is no such character set
  }
}

function charsetInPage(head: string): string | undefined {
  const label = /<meta\b[^>]{0,300}?\bcharset\s*=\s*["']?\s*([\w-]{1,40})/i.exec(head)?.[1];
  // Who could be read so far is not of 16 bits, whatever it says.
  return label && /^utf-?16/i.test(label) ? "utf-8" : label;
}

function latin1(bytes: Uint8Array, most: number): string {
  return new TextDecoder("latin1").decode(bytes.subarray(0, most));
}
