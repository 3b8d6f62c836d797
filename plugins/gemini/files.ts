/** Files of this wire: uploaded in pieces or at once, and named by URLs. */
import { sniffMedia } from "../../src/canonical/media.ts";
import { typeByName } from "../../src/canonical/document_types.ts";
import { bareId, type FileFacts, type StoredFile } from "../../src/canonical/files.ts";
import { asObject, type JsonObject, parseJson, toJsonText } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { afterId, countIn, type FileVerb, seconds } from "../shared/files.ts";

/** How long the vendor keeps files, in milliseconds. */
const KEPT_MS = 48 * 3_600_000;
const [USUAL_PAGE, MOST_LISTED] = [10, 100];
const UNTYPED = "application/octet-stream";

/** Begins an upload in pieces. The answer's header says where they go. */
export const begin: FileVerb = {
  parse({ body, headers }) {
    const length = headers.get("x-goog-upload-header-content-length") ?? "";
    if (!/^\d{1,12}$/.test(length)) {
      const param = "X-Goog-Upload-Header-Content-Length";
      throw new GatewayError("invalid_request", "Expected the length of the file, in bytes", { param });
    }
    const declared = headers.get("x-goog-upload-header-content-type") ?? undefined;
    const fileName = headers.get("x-goog-upload-file-name") ?? undefined;
    return { action: "begin", facts: factsOf(asObject(body), declared, fileName), bytes: Number(length) };
  },
  serialize({ files: [file], base }) {
    const url = `${base}/upload/v1beta/files?upload_id=${file!.id}`;
    return new Response(null, { headers: { "x-goog-upload-url": url, "x-goog-upload-status": "active" } });
  },
};

/** A piece, the end of an upload, or a question how far it is. */
export const append: FileVerb = {
  parse({ body, headers, query }) {
    const id = query.get("upload_id") ?? "";
    const commands = (headers.get("x-goog-upload-command") ?? "upload, finalize").split(",").map((one) => one.trim());
    if (commands.includes("query")) return { action: "progress", id };
    if (commands.includes("cancel")) return { action: "cancel", id };
    const offset = Number(headers.get("x-goog-upload-offset") ?? 0);
    return {
      action: "append",
      id,
      offset,
      content: body as Uint8Array<ArrayBuffer>,
      isLast: commands.includes("finalize"),
    };
  },
  serialize({ files: [file], received, base }, { input }) {
    if (input.action === "cancel") return new Response(null, { headers: { "x-goog-upload-status": "cancelled" } });
    if (received === undefined) {
      return Response.json({ file: serializeFile(file!, base) }, { headers: { "x-goog-upload-status": "final" } });
    }
    const headers = { "x-goog-upload-status": "active", "x-goog-upload-size-received": String(received) };
    return new Response(null, { headers });
  },
};

/** A file and its facts in one body of two parts, or a file alone. */
export const upload: FileVerb = {
  parse({ body, headers }) {
    const bytes = body as Uint8Array<ArrayBuffer>;
    const type = headers.get("content-type") ?? UNTYPED;
    const [, quoted, plain] = /^multipart\/related\s*;.*\bboundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type) ??
      [];
    const boundary = quoted ?? plain;
    if (boundary === undefined) return { action: "upload", facts: typed(factsOf({}, type), bytes), content: bytes };
    const [facts, file] = partsOf(bytes, boundary);
    if (!facts || !file) throw unreadable();
    const described = asObject(parseJson(new TextDecoder().decode(facts.content)));
    return { action: "upload", facts: typed(factsOf(described, file.type), file.content), content: file.content };
  },
  serialize: ({ files: [file], base }) => Response.json({ file: serializeFile(file!, base) }),
};

export const list: FileVerb = {
  parse: () => ({ action: "list" }),
  serialize({ files, base }, { wire: { query } }) {
    const size = countIn(query, "pageSize", USUAL_PAGE, MOST_LISTED);
    const rest = afterId(files, query.get("pageToken"), "pageToken");
    const page = rest.slice(0, size);
    return Response.json({
      files: page.map((file) => serializeFile(file, base)),
      ...(rest.length > size && { nextPageToken: page.at(-1)!.id }),
    });
  },
};

export const get: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "get", id: bareId(id) }),
  serialize: ({ files: [file], base }) => Response.json(serializeFile(file!, base)),
};

export const remove: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "delete", id: bareId(id) }),
  serialize: () => Response.json({}),
};

function factsOf(body: JsonObject, declared?: string, fileName?: string): FileFacts {
  const { name, mimeType, mime_type, displayName, display_name } = asObject(body.file);
  if (name !== undefined && name !== null && name !== "") {
    const message = 'Cannot serve "file.name": the gateway chooses the names of files';
    throw new GatewayError("invalid_request", message, { param: "file.name" });
  }
  const shown = toJsonText(displayName ?? display_name ?? fileName ?? "file");
  const mediaType = (toJsonText(mimeType ?? mime_type ?? "") || declared) ?? UNTYPED;
  const bare = mediaType.split(";", 1)[0]!.trim().toLowerCase();
  return { name: shown, mediaType: bare === UNTYPED ? typeByName(shown) ?? bare : bare, keepMs: KEPT_MS };
}

/** The facts with the type that the bytes show, if nobody declared one. */
function typed(facts: FileFacts, bytes: Uint8Array): FileFacts {
  return facts.mediaType === UNTYPED ? { ...facts, mediaType: sniffMedia(bytes) ?? UNTYPED } : facts;
}

function serializeFile({ id, name, mediaType, bytes, created, expires }: StoredFile, base: string): JsonObject {
  const time = (ms: number) => new Date(seconds(ms) * 1000).toISOString();
  return {
    name: `files/${id}`,
    displayName: name,
    mimeType: mediaType,
    sizeBytes: String(bytes),
    createTime: time(created),
    updateTime: time(created),
    ...(expires !== undefined && { expirationTime: time(expires) }),
    uri: `${base}/v1beta/files/${id}`,
    state: "ACTIVE",
    source: "UPLOADED",
  };
}

interface Part {
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

/** The first two parts of a body of several. The rest, if any, is left aside. */
function partsOf(bytes: Uint8Array<ArrayBuffer>, boundary: string): Part[] {
  const parts: Part[] = [];
  const mark = latin1(`--${boundary}`);
  // Only what follows a line break is compared: a client can choose a boundary of hyphens, and a body of nothing else.
  let at = isAt(bytes, mark, 0) ? 0 : afterBreak(indexOf(bytes, latin1(`\r\n--${boundary}`), 0));
  while (at >= 0 && parts.length < 2) {
    const start = at + mark.length;
    const next = indexOf(bytes, latin1(`\r\n--${boundary}`), start);
    const headEnd = indexOf(bytes, latin1("\r\n\r\n"), start);
    if (next < 0 || headEnd < 0 || headEnd > next || headEnd - start > LONGEST_HEAD) throw unreadable();
    const head = new TextDecoder().decode(bytes.subarray(start, headEnd));
    const type = /^content-type:\s*(.+)$/im.exec(head)?.[1]?.trim() ?? UNTYPED;
    parts.push({ type, content: bytes.slice(headEnd + 4, next) });
    at = next + 2;
  }
  return parts;
}

const LONGEST_HEAD = 8_192;

const afterBreak = (at: number) => at < 0 ? at : at + 2;

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Looks for the first byte natively, which is a line break, and no boundary has another: each byte is compared once. */
function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(wanted[0]!, from); at >= 0; at = bytes.indexOf(wanted[0]!, at + 1)) {
    if (isAt(bytes, wanted, at)) return at;
  }
  return -1;
}

function isAt(bytes: Uint8Array, wanted: Uint8Array, at: number): boolean {
  let same = 0;
  while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
  return same === wanted.length;
}

function unreadable(): GatewayError {
  return new GatewayError("invalid_request", "Cannot read the parts of the body: it is truncated or malformed");
}
