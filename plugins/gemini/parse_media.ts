import { extraOf, inside } from "../../src/canonical/extra.ts";
import type { FilePart } from "../../src/canonical/generate.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { BLOB_KEYS, FILE_KEYS, type GeminiMedia, WIRE } from "./wire.ts";

type Blob = NonNullable<GeminiMedia["inlineData"]>;
type File = NonNullable<GeminiMedia["fileData"]>;

/** The host to which the vendor's clients upload files. */
const FILES_HOST = "generativelanguage.googleapis.com";

/** `rest`: the part's other fields. */
export function parseInline(blob: Blob, rest: JsonObject): FilePart {
  const { mimeType, data, displayName } = blob;
  return {
    type: "file",
    mediaType: mimeType,
    source: { type: "base64", data: standard(data) },
    ...present("name", displayName),
    ...withExtra({ ...rest, ...inside("inlineData", extraOf(WIRE, blob, BLOB_KEYS)) }),
  };
}

/** Refuses files that were uploaded to the vendor, because other upstreams cannot read them. */
export function parseFile(file: File, rest: JsonObject, place: string): FilePart {
  const { fileUri, mimeType, displayName } = file;
  const url = URL.parse(fileUri);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.hostname === FILES_HOST) {
    const message =
      `Cannot serve "${place}": the gateway keeps no files. Send the file in "inlineData", or the URL of one`;
    throw new GatewayError("invalid_request", message, { param: place });
  }
  return {
    type: "file",
    mediaType: mimeType || typeByName(url.pathname),
    source: { type: "url", url: fileUri },
    ...present("name", displayName),
    ...withExtra({ ...rest, ...inside("fileData", extraOf(WIRE, file, FILE_KEYS)) }),
  };
}

function withExtra(fields: JsonObject) {
  return Object.keys(fields).length > 0 ? { extra: { wire: WIRE, fields } } : {};
}

/** Converts to standard base64. This wire allows both alphabets, with or without padding. Invalid data is passed on as it is. */
function standard(data: string): string {
  const isUrlSafe = data.includes("-") || data.includes("_");
  if (!isUrlSafe && data.length % 4 === 0) return data;
  try {
    return Uint8Array.fromBase64(data, { alphabet: isUrlSafe ? "base64url" : "base64" }).toBase64();
  } catch {
    return data;
  }
}

/** Guesses the type by the file name. Most links are to images. */
function typeByName(pathname: string): string {
  return /\.pdf$/i.test(pathname) ? "application/pdf" : "image/*";
}
