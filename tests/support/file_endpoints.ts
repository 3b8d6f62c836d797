/** Every endpoint for files, found in the list of protocols, and the smallest request of each. */
import { protocols } from "../../plugins/mod.ts";
import type { AnyProtocol } from "../../src/contract/protocol.ts";

const CONTENT = "text of a file";

/** Files and uploads that requests are about. Ids are those of `files-…`, without a prefix. */
export interface FileIds {
  file: string;
  /** An upload in pieces whose `CONTENT` is expected. */
  begun: string;
  /** An upload in parts that has all of it, as its first. */
  filled: string;
}

export interface FileEndpoint {
  protocol: AnyProtocol;
  request(ids: FileIds, base: string, key: string): Request;
}

export const FILE_ENDPOINTS: readonly FileEndpoint[] = protocols.filter(({ operation }) => operation === "files").map(
  (protocol) => ({ protocol, request: (ids, base, key) => requestFor(protocol, ids, base, key) }),
);

function requestFor({ name, method, pattern, wire, body }: AnyProtocol, ids: FileIds, base: string, key: string) {
  const headers = new Headers(WIRE_HEADERS[wire]!(key));
  const verb = name.split("-").at(-1)!;
  const id = { part: ids.begun, cancel: ids.begun, complete: ids.filled }[verb] ?? ids.file;
  const url = new URL(base + pattern.pathname.replace(":lane", "oss").replace(":id", id));
  if (body === "none") return new Request(url, { method, headers });
  if (body === "form") return new Request(url, { method, headers, body: formOf(wire, verb) });
  if (wire === "chat") {
    headers.set("content-type", "application/json");
    const fields = verb === "begin" ? BEGUN : { part_ids: [`part_${ids.filled}_0`] };
    return new Request(url, { method, headers, body: JSON.stringify(fields) });
  }
  if (verb === "append") url.searchParams.set("upload_id", ids.begun);
  for (const [header, value] of Object.entries(VERB_HEADERS[verb] ?? {})) headers.set(header, value);
  return new Request(url, { method, headers, body: body === "json" ? "{}" : CONTENT });
}

const BEGUN = { bytes: CONTENT.length, filename: "a.txt", mime_type: "text/plain", purpose: "user_data" };

const WIRE_HEADERS: Record<string, (key: string) => Record<string, string>> = {
  chat: (key) => ({ authorization: `Bearer ${key}` }),
  messages: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  gemini: (key) => ({ "x-goog-api-key": key }),
};

const VERB_HEADERS: Record<string, Record<string, string>> = {
  begin: {
    "content-type": "application/json",
    "x-goog-upload-command": "start",
    "x-goog-upload-header-content-length": String(CONTENT.length),
  },
  append: { "x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0" },
  upload: { "content-type": "text/plain" },
};

function formOf(wire: string, verb: string): FormData {
  const form = new FormData();
  form.set(verb === "part" ? "data" : "file", new File([CONTENT], "a.txt"));
  if (wire === "chat") form.set("purpose", "user_data");
  return form;
}

/** How many requests `madeFiles` sends. */
export const MAKING = 4;

/** A file and begun uploads of the key, made by requests of their own. */
export async function madeFiles(
  ask: (request: Request) => Promise<Response>,
  base: string,
  key: string,
): Promise<FileIds> {
  const send = async (name: string, ids: FileIds): Promise<{ id: string }> => {
    const { request } = FILE_ENDPOINTS.find(({ protocol }) => protocol.name === name)!;
    return await (await ask(request(ids, base, key))).json();
  };
  const none = { file: "", begun: "", filled: "" };
  const file = await send("files-upload", none);
  const [begun, filled] = [await send("files-begin", none), await send("files-begin", none)];
  const [, id] = filled.id.split("_");
  await send("files-part", { ...none, begun: id! });
  return { file: file.id.replace("file-", ""), begun: begun.id.replace("upload_", ""), filled: id! };
}
