import { extraOf, inside } from "../../src/canonical/extra.ts";
import type { FilePart } from "../../src/canonical/generate.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { BLOB_KEYS, FILE_KEYS, type GeminiMedia, WIRE } from "./wire.ts";

type Blob = NonNullable<GeminiMedia["inlineData"]>;
type File = NonNullable<GeminiMedia["fileData"]>;

/** The host to which the vendor's clients upload files. */
const FILES_HOST = "generativelanguage.googleapis.com";

/** The URL or the name of a file that was uploaded to a gateway: its ids are 32 digits. */
const UPLOADED = /^(?:https?:\/\/[^?#]+\/v1(?:beta)?\/)?files\/([0-9a-f]{32})$/;

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
  const id = UPLOADED.exec(fileUri)?.[1];
  if (id !== undefined) {
    return {
      type: "file",
      mediaType: mimeType || "application/octet-stream",
      source: { type: "id", id },
      ...present("name", displayName),
      ...withExtra({ ...rest, ...inside("fileData", extraOf(WIRE, file, FILE_KEYS)) }),
    };
  }
  const url = URL.parse(fileUri);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.hostname === FILES_HOST) {
    const message =
      `Cannot serve "${place}": only files uploaded to the gateway can be read. Send it in "inlineData", or its URL`;
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
