import { sniffMedia } from "../canonical/media.ts";
import { runSliced, type SlicedWork } from "../util/sliced_work.ts";
import type { FormField } from "../contract/context.ts";
import { GatewayError } from "../errors.ts";
import { type BodyLimits, decodeText, readBody } from "./body.ts";

/**
 * The fields of a multipart form, in order. Files are views of a single buffer. The platform's `formData()` needs four times the
 * memory of the file, and the library that was tried has a search with quadratic time. Throws the same errors as `readJsonBody`.
 */
export async function readFormBody(request: Request, limits: BodyLimits): Promise<FormField[]> {
  const type = request.headers.get("content-type") ?? "";
  const [, quoted, plain] = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type) ??
    [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) {
    const found = /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0];
    const what = found === undefined ? "a missing or invalid content type" : `content type "${found}"`;
    const wanted = "send multipart/form-data with its boundary";
    throw new GatewayError("unsupported_media_type", `Cannot read a form with ${what}: ${wanted}`);
  }
  const bytes = await readBody(request, "a multipart form", limits);
  const parts = await runSliced(partsOf(bytes, boundary));
  return parts.map(toField);
}

const MOST_FIELDS = 1_000;
const LONGEST_HEADER = 8 * 1024;

function unreadable(detail: string): GatewayError {
  return new GatewayError("invalid_request", `Cannot read the multipart form: ${detail}`);
}

/** One part of a form, not yet interpreted. */
interface Part {
  headers: Map<string, string>;
  content: Uint8Array;
}

/**
 * Splits the body at the lines that begin with the boundary. It searches only for line breaks and compares the boundary there. A
 * search for the whole boundary takes half a minute for some boundaries and files that a client can choose.
 */
function* partsOf(bytes: Uint8Array, boundary: string): SlicedWork<Part[]> {
  const mark = new TextEncoder().encode(`\r\n--${boundary}`);
  // The first boundary may be at the very beginning, without its line break.
  let at = isAt(bytes, 0, mark.subarray(LINE_BREAK.length)) ? -LINE_BREAK.length : bytes.indexOf(CR);
  const parts: Part[] = [];
  let start: number | undefined;
  let count = 0;
  for (let breaks = 0, next = 0; at !== -1; at = bytes.indexOf(CR, next)) {
    if (++breaks % SLICE === 0) yield;
    next = Math.max(0, at + 1);
    if (at >= 0 && !isAt(bytes, at, mark)) continue;
    let end = at + mark.length;
    const isLast = bytes[end] === DASH && bytes[end + 1] === DASH;
    while (bytes[end] === SPACE || bytes[end] === TAB) end++;
    if (!isLast && !isAt(bytes, end, LINE_BREAK)) continue;
    if (start !== undefined) parts.push(toPart(bytes.subarray(start, at)));
    if (isLast) return parts;
    if (++count > MOST_FIELDS) throw unreadable(`it has more than ${MOST_FIELDS} fields`);
    start = next = end;
  }
  throw unreadable("it is truncated or malformed");
}

/** How many line breaks to examine before others may run. */
const SLICE = 10_000;

const [CR, SPACE, TAB, DASH] = [13, 32, 9, 45];
const LINE_BREAK = Uint8Array.of(CR, 10);
const HEADER_END = Uint8Array.of(...LINE_BREAK, ...LINE_BREAK);

function isAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index++) if (bytes[at + index] !== wanted[index]) return false;
  return true;
}

/** `bytes` start right after the boundary. A line break precedes each header, and two follow the last one. */
function toPart(bytes: Uint8Array): Part {
  let end = bytes.indexOf(CR);
  while (end >= 0 && end <= LONGEST_HEADER && !isAt(bytes, end, HEADER_END)) end = bytes.indexOf(CR, end + 1);
  if (end < 0 || end > LONGEST_HEADER) throw unreadable("the headers of a part are unterminated or too long");
  const lines = decodeText(bytes.subarray(0, end)).split("\r\n").map((line) => /^([^:]+):\s*(.*)$/s.exec(line));
  const headers = lines.flatMap((line): [string, string][] => line ? [[line[1]!.trim().toLowerCase(), line[2]!]] : []);
  return { headers: new Map(headers), content: bytes.subarray(end + HEADER_END.length) };
}

function toField({ headers, content }: Part): FormField {
  const parameters = parametersOf(headers.get("content-disposition") ?? "");
  const name = parameters.get("name");
  const type = headers.get("content-type") ?? "";
  const filename = extendedValue(parameters.get("filename*")) ?? parameters.get("filename") ??
    (/^(audio|video)\/|octet-stream/i.test(type) ? name : undefined);
  if (!name) throw new GatewayError("invalid_request", "The multipart form contains a part without a name");
  if (filename === undefined) return { name, value: decodeText(content) };
  const bytes = unshared(content);
  const declaredType = /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0].toLowerCase();
  return {
    name,
    file: {
      bytes,
      name: filename,
      mediaType: mediaTypeOf(bytes, filename, type),
      ...(declaredType !== undefined && { declaredType }),
    },
  };
}

/**
 * `form-data; name="file"; filename="a.wav"`. In some clients' names a backslash escapes a quote, and in others it is an
 * ordinary character.
 */
function parametersOf(header: string): Map<string, string> {
  const found = header.matchAll(/;\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g);
  return new Map(
    Array.from(found, ([, key = "", quoted, plain = ""]) => [
      key.toLowerCase(),
      quoted?.replace(/\\(["\\])/g, "$1") ?? plain,
    ]),
  );
}

/** `UTF-8''na%C3%AFve.wav`. `undefined` if it is malformed, because there is a plain name as well. */
function extendedValue(text: string | undefined): string | undefined {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(text ?? "") ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** SDKs send every file as untyped bytes, so the content is checked first, and then the file name. */
function mediaTypeOf(bytes: Uint8Array, filename: string, declared: string): string {
  const named = /^(audio|video)\/[\w.+-]+/i.exec(declared)?.[0].toLowerCase();
  const extension = filename.slice(filename.lastIndexOf(".") + 1).toLowerCase();
  return sniffMedia(bytes) ?? named ?? MEDIA_TYPE_OF_EXTENSION.get(extension) ?? "application/octet-stream";
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

/** The bytes in the type that a `Blob` accepts. */
function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes);
}
