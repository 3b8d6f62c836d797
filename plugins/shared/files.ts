/** Uploaded files, as far as all wires do the same with them. */
import { typeByName } from "../../src/canonical/document_types.ts";
import {
  bareId,
  type FileFacts,
  type FilesAnswer,
  type FilesRequest,
  type StoredFile,
} from "../../src/canonical/files.ts";
import type { Exchange, FormField, FormFile, WireRequest } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";

/** How one endpoint reads its requests and writes its answers. */
export interface FileVerb {
  parse(wire: WireRequest): FilesRequest;
  serialize(answer: FilesAnswer, exchange: Exchange<"files">): Response;
}

/** The file of a form, in the field of this name, and its other fields. */
export function formOf(body: unknown, field = "file"): { file: FormFile; fields: ReadonlyMap<string, string> } {
  const all = body as readonly FormField[];
  const file = all.find(({ name, file }) => name === field && file)?.file;
  if (!file) {
    throw new GatewayError("invalid_request", `The form has no file in the field "${field}"`, { param: field });
  }
  const texts = all.flatMap(({ name, value }): [string, string][] => value === undefined ? [] : [[name, value]]);
  return { file, fields: new Map(texts) };
}

const UNTYPED = "application/octet-stream";

/** The request for a file in a form. SDKs send most files without a type. */
export function uploadOf(
  { bytes, name, mediaType, declaredType = UNTYPED }: FormFile,
  more: Pick<FileFacts, "purpose" | "keepMs">,
): Extract<FilesRequest, { action: "upload" }> {
  // The first bytes of a picture or a PDF are surer than its name.
  const isSure = /^image\/|\/pdf$/.test(mediaType);
  const named = declaredType === UNTYPED ? typeByName(name) ?? mediaType : declaredType;
  return { action: "upload", facts: { name, mediaType: isSure ? mediaType : named, ...more }, content: bytes };
}

/** The time that a client wants a file kept, from seconds to milliseconds. */
export function keepMsOf(text: string | undefined, most: number, param: string): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (seconds >= LEAST_SECONDS && seconds <= most) return seconds * 1000;
  throw new GatewayError("invalid_request", `Expected a number of seconds from ${LEAST_SECONDS} to ${most}`, { param });
}

const LEAST_SECONDS = 3_600;

/** A whole number in the query. Throws if it is none, or not in the range. */
export function countIn(query: URLSearchParams, name: string, preset: number, most: number): number {
  const text = query.get(name);
  if (text === null || text === "") return preset;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= most) return count;
  throw new GatewayError("invalid_request", `Expected a number from 1 to ${most}`, { param: name });
}

/** The files after the one with the id `after`. An unknown id is refused: a client would take the beginning for the rest. */
export function afterId(files: readonly StoredFile[], after: string | null, param: string): readonly StoredFile[] {
  if (after === null || after === "") return files;
  const at = files.findIndex(({ id }) => id === bareId(after));
  if (at < 0) throw new GatewayError("invalid_request", `There is no file with id '${after}'`, { param });
  return files.slice(at + 1);
}

/** The content, in a form that no browser takes for a page of the gateway's. */
export function serializeContent({ files: [file], content }: FilesAnswer): Response {
  return new Response(content, {
    headers: {
      "content-type": UNTYPED,
      "content-length": String(file!.bytes),
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file!.name)}`,
      "x-content-type-options": "nosniff",
    },
  });
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
