import { MultipartPart } from "@remix-run/multipart-parser";
import { sniffMedia } from "../canonical/audio.ts";
import type { FormField } from "../contract/context.ts";
import { GatewayError } from "../errors.ts";
import { type BodyLimits, decodeText, readBody } from "./body.ts";

/**
 * The fields of the multipart form that a client sent, in their order. Files are views of one buffer. Throws as
 * `readJsonBody` does.
 */
export async function readFormBody(request: Request, limits: BodyLimits): Promise<FormField[]> {
  const type = request.headers.get("content-type") ?? "";
  const [, quoted, plain] = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type) ??
    [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) {
    const found = /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0];
    const told = found === undefined ? "a content type that is missing or unreadable" : `content type "${found}"`;
    const wanted = "send multipart/form-data with its boundary";
    throw new GatewayError("unsupported_media_type", `Cannot read a form of ${told}: ${wanted}`);
  }
  const bytes = await readBody(request, "a multipart form", limits);
  try {
    return Array.from(partsOf(bytes, boundary), toField);
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : unreadable("a header is not valid UTF-8", cause);
  }
}

const MOST_FIELDS = 1_000;
const LONGEST_HEADER = 8 * 1024;

function unreadable(detail: string, cause?: unknown): GatewayError {
  return new GatewayError("invalid_request", `Cannot read the multipart form: ${detail}`, { cause });
}

/**
 * What is between the lines that begin with the boundary. No byte is looked at twice for it, whatever the client chose for a
 * boundary and put into a file: a search for the whole boundary takes half a minute for some.
 */
function* partsOf(bytes: Uint8Array, boundary: string): Generator<MultipartPart> {
  const line = new TextEncoder().encode(`--${boundary}`);
  let start: number | undefined;
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== line[0] || !beginsLine(bytes, at) || !isAt(bytes, at, line)) continue;
    let end = at + line.length;
    const isLast = isAt(bytes, end, line.subarray(0, 2));
    while (bytes[end] === SPACE || bytes[end] === TAB) end++;
    if (!isLast && !isAt(bytes, end, LINE_BREAK)) continue;
    if (start !== undefined) yield toPart(bytes.subarray(start, at - LINE_BREAK.length));
    if (isLast) return;
    if (++count > MOST_FIELDS) throw unreadable(`it has more than ${MOST_FIELDS} fields`);
    start = end;
    at = end - 1;
  }
  throw unreadable("it is cut off or breaks the format");
}

const [CR, LF, SPACE, TAB] = [13, 10, 32, 9];
const LINE_BREAK = Uint8Array.of(CR, LF);
const HEADER_END = Uint8Array.of(CR, LF, CR, LF);

function isAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  return wanted.every((byte, index) => bytes[at + index] === byte);
}

function beginsLine(bytes: Uint8Array, at: number): boolean {
  return at === 0 || isAt(bytes, at - LINE_BREAK.length, LINE_BREAK);
}

/** `bytes` go on from the boundary: before each header is a line break, and after the last one are two. */
function toPart(bytes: Uint8Array): MultipartPart {
  let end = bytes.indexOf(CR);
  while (end >= 0 && end <= LONGEST_HEADER && !isAt(bytes, end, HEADER_END)) end = bytes.indexOf(CR, end + 1);
  if (end < 0 || end > LONGEST_HEADER) throw unreadable("the headers of a part have no end, or are too long");
  return new MultipartPart(bytes.subarray(0, end), [bytes.subarray(end + HEADER_END.length)]);
}

function toField(part: MultipartPart): FormField {
  const { name, filename } = part;
  if (!name) throw new GatewayError("invalid_request", "The multipart form holds a part without a name");
  const [content = new Uint8Array()] = part.content;
  if (filename === undefined) return { name, value: decodeText(content) };
  const bytes = unshared(content);
  return { name, file: { bytes, name: filename, mediaType: mediaTypeOf(bytes, filename, part.mediaType) } };
}

/** SDKs send every file as bytes without a type, so the bytes are asked first, and then the file's name. */
function mediaTypeOf(bytes: Uint8Array, filename: string, declared = ""): string {
  const told = /^(audio|video)\/[\w.+-]+$/i.test(declared) ? declared.toLowerCase() : undefined;
  const extension = filename.slice(filename.lastIndexOf(".") + 1).toLowerCase();
  return sniffMedia(bytes) ?? told ?? MEDIA_TYPE_OF_EXTENSION.get(extension) ?? "application/octet-stream";
}

const MEDIA_TYPE_OF_EXTENSION: ReadonlyMap<string, string> = new Map([
  ["wav", "audio/wav"],
  ["mp3", "audio/mpeg"],
  ["mpga", "audio/mpeg"],
  ["mpeg", "audio/mpeg"],
  ["m4a", "audio/mp4"],
  ["mp4", "audio/mp4"],
  ["ogg", "audio/ogg"],
  ["oga", "audio/ogg"],
  ["opus", "audio/ogg"],
  ["flac", "audio/flac"],
  ["aac", "audio/aac"],
  ["webm", "audio/webm"],
]);

/** The same bytes, as the type that a blob takes. */
function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes);
}
