import { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";
import { sniffMedia } from "./media.ts";
import type { ReportedUsage } from "./usage.ts";

/** The formats of pictures. */
export const PICTURE_FORMATS = ["png", "jpeg", "webp", "gif", "svg"] as const;
export type PictureFormat = typeof PICTURE_FORMATS[number];

/** The media type of each format. */
export const PICTURE_TYPES: Readonly<Record<PictureFormat, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  svg: "image/svg+xml",
};

/** A request to draw pictures, or to change given ones. */
export interface DrawRequest {
  model: string;
  prompt: string;
  /** The pictures to change. Absent if new ones are wanted. */
  images?: GivenPicture[];
  /** The parts of the first picture that may change: they are transparent in it. */
  mask?: GivenPicture;
  /** How many pictures are wanted. */
  count: number;
  /** In pixels. Absent if the model decides. */
  size?: PictureSize;
  /** A word such as `high`. Absent if the model decides. */
  quality?: string;
  /** Absent if the model decides. */
  background?: "transparent" | "opaque";
  /** Absent if the model decides. */
  format?: PictureFormat;
  /** The quality of a format with losses, in percent. */
  compression?: number;
  negativePrompt?: string;
  seed?: number;
  steps?: number;
  /** How closely the model keeps to the prompt. */
  guidance?: number;
  /** How many unfinished pictures a stream may show before each finished one. */
  partials?: number;
  /** Whether the client wants the address of a picture, if the upstream has one. */
  wantsUrl?: boolean;
  stream: boolean;
  extra?: Extra;
}

export interface PictureSize {
  width: number;
  height: number;
}

/** A picture from a client: its contents, its address, or the id of an uploaded file. */
export type GivenPicture =
  | { type: "bytes"; bytes: Uint8Array<ArrayBuffer>; mediaType: string; name: string }
  | { type: "url"; url: string }
  | { type: "id"; id: string };

/** Pictures as a model drew them. */
export interface DrawResponse extends DrawingFacts {
  pictures: Picture[];
  usage: DrawUsage;
}

/** The tokens and the pictures of an answer. Few upstreams count tokens. */
export interface DrawUsage extends ReportedUsage {
  pictures: number;
  /** The tokens of the given pictures, which the input includes. */
  inputImageTokens?: number;
}

/** The facts about its pictures that an upstream reports. */
export interface DrawingFacts {
  quality?: string;
  background?: string;
}

export type Picture = (DrawnPicture | { url: string; base64?: undefined; format?: undefined; size?: undefined }) & {
  /** The prompt that the model was given, if the upstream changed it. */
  revisedPrompt?: string;
};

export interface DrawnPicture {
  base64: string;
  /** The actual format, whichever was requested. */
  format: PictureFormat;
  /** Absent if the first bytes do not show it. */
  size?: PictureSize;
  url?: undefined;
}

export type DrawEvent =
  | { type: "partial"; index: number; picture: DrawnPicture }
  | { type: "picture"; picture: Picture }
  | ({ type: "finish"; usage: DrawUsage } & DrawingFacts)
  | { type: "error"; error: GatewayError };

/** The picture in an upstream's bytes. Throws `upstream_error` if they are none. */
export function pictureIn(bytes: Uint8Array): DrawnPicture {
  return drawn(bytes, () => bytes.toBase64());
}

/** The picture in an upstream's base64, or data URL. Throws `upstream_error` if it has none. */
export function pictureInText(text: string): DrawnPicture {
  const base64 = text.startsWith("data:") ? text.slice(text.indexOf(",") + 1) : text;
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.fromBase64(base64);
  } catch {
    throw new GatewayError("upstream_error", "The upstream's picture is not valid base64");
  }
  // Some servers break lines, which not every client can read.
  return drawn(bytes, () => /\s/.test(base64) ? bytes.toBase64() : base64);
}

function drawn(bytes: Uint8Array, base64: () => string): DrawnPicture {
  if (bytes.length === 0) throw new GatewayError("upstream_error", "The upstream sent an empty picture");
  const format = formatOf(bytes);
  if (!format) throw new GatewayError("upstream_error", "The upstream sent something else instead of a picture");
  const size = sizeOf(bytes, format);
  return { base64: base64(), format, ...(size && { size }) };
}

/** The format of a picture by its first bytes. `undefined` if it is none. */
export function formatOf(bytes: Uint8Array): PictureFormat | undefined {
  const seen = sniffMedia(bytes);
  const format = PICTURE_FORMATS.find((one) => PICTURE_TYPES[one] === seen);
  if (format || seen !== undefined) return format;
  const start = new TextDecoder().decode(bytes.subarray(0, 512));
  return /^\ufeff?\s*(?:<\?xml[^>]*>\s*|<!--[^>]*-->\s*|<!DOCTYPE svg[^>]*>\s*)*<svg[\s>]/i.test(start)
    ? "svg"
    : undefined;
}

/** The size that a picture's header states. `undefined` if it cannot be read. */
export function sizeOf(bytes: Uint8Array, format: PictureFormat): PictureSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (format) {
    case "png":
      return view.byteLength < 24 ? undefined : { width: view.getUint32(16), height: view.getUint32(20) };
    case "gif":
      return view.byteLength < 10 ? undefined : { width: view.getUint16(6, true), height: view.getUint16(8, true) };
    case "jpeg":
      return sizeOfJpeg(view);
    case "webp":
      return sizeOfWebp(view);
    default:
      return undefined;
  }
}

/** The segments before the one with the size are short, and there are few. */
const MOST_SEGMENTS = 256;

function sizeOfJpeg(view: DataView): PictureSize | undefined {
  for (let at = 2, count = 0; at + 9 < view.byteLength && count < MOST_SEGMENTS; count++) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return undefined;
}

function sizeOfWebp(view: DataView): PictureSize | undefined {
  if (view.byteLength < 30) return undefined;
  switch (view.getUint32(12)) {
    case 0x56503820: // "VP8 "
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    case 0x5650384c: { // "VP8L"
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 0x56503858: // "VP8X"
      return {
        width: (view.getUint32(24, true) & 0xffffff) + 1,
        height: (view.getUint16(27, true) | view.getUint8(29) << 16) + 1,
      };
    default:
      return undefined;
  }
}

/** `1024x1024`. */
export function sizeText({ width, height }: PictureSize): string {
  return `${width}x${height}`;
}

/**
 * The answer with no more pictures than were wanted. Notes what differs from the request. Throws `upstream_error` if there is none.
 */
export function delivered(
  pictures: readonly Picture[],
  { count, format, size, wantsUrl }: DrawRequest,
  note: (text: string) => void,
): Picture[] {
  const all = pictures.slice(0, count);
  const [first] = all;
  if (!first) throw new GatewayError("upstream_error", "The upstream's answer has no picture");
  if (all.length < count) note(`delivered ${all.length} of ${count} pictures`);
  if (first.format && format && first.format !== format) note(`delivered ${first.format} in place of ${format}`);
  if (first.size && size && sizeText(first.size) !== sizeText(size)) {
    note(`delivered ${sizeText(first.size)} in place of ${sizeText(size)}`);
  }
  if (first.url === undefined && wantsUrl) note("delivered b64_json in place of url");
  if (first.url !== undefined && !wantsUrl) note("delivered url in place of b64_json");
  return all;
}
