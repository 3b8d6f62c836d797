/** Every endpoint for files, found in the list of protocols, and the smallest request of each. */
import { protocols } from "../../plugins/mod.ts";
import type { AnyProtocol } from "../../src/contract/protocol.ts";

const CONTENT = "text of a file";

/** Files and uploads that requests are about. Ids are those of `files-…`, without a prefix. */
export interface FileIds {
  file: string;
  /** An upload in pieces whose `CONTENT` is expected. */
  begun: string;
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
  const url = new URL(base + pattern.pathname.replace(":lane", "oss").replace(":id", ids.file));
  if (body === "none") return new Request(url, { method, headers });
  if (body === "form") return new Request(url, { method, headers, body: formOf(wire) });
  const verb = name.split("-").at(-1)!;
  if (verb === "append") url.searchParams.set("upload_id", ids.begun);
  for (const [header, value] of Object.entries(VERB_HEADERS[verb] ?? {})) headers.set(header, value);
  return new Request(url, { method, headers, body: body === "json" ? "{}" : CONTENT });
}

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

function formOf(wire: string): FormData {
  const form = new FormData();
  form.set("file", new File([CONTENT], "a.txt"));
  if (wire === "chat") form.set("purpose", "user_data");
  return form;
}

/** A file and a begun upload of the key, made by requests of their own. */
export async function madeFiles(
  ask: (request: Request) => Promise<Response>,
  base: string,
  key: string,
): Promise<FileIds> {
  const named = (name: string) => FILE_ENDPOINTS.find(({ protocol }) => protocol.name === name)!;
  const none = { file: "", begun: "" };
  const file = await ask(named("files-upload").request(none, base, key));
  const begun = await ask(named("gemini-v1-files-begin").request(none, base, key));
  await begun.body?.cancel();
  const place = new URL(begun.headers.get("x-goog-upload-url")!);
  return { file: (await file.json()).id.replace("file-", ""), begun: place.searchParams.get("upload_id")! };
}
