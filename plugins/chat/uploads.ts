/** Uploads in parts, which become a file once their client has said in which order the parts are its content. */
import { bareId, type StoredFile, UPLOAD_MS } from "../../src/canonical/files.ts";
import { asList, asObject, isText, type JsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { type FileVerb, formOf, seconds } from "../shared/files.ts";
import { keepMsIn, purposeIn, serializeFile } from "./files.ts";

export const begin: FileVerb = {
  parse({ body }) {
    const { bytes, filename, mime_type, purpose: given, expires_after } = asObject(body);
    const purpose = purposeIn(given);
    if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 1) {
      throw new GatewayError("invalid_request", "Expected the length of the file, in bytes", { param: "bytes" });
    }
    const facts = { name: textIn(filename, "filename"), mediaType: textIn(mime_type, "mime_type").toLowerCase() };
    const { anchor, seconds } = asObject(expires_after);
    const keepMs = keepMsIn(purpose, anchor, seconds === undefined ? undefined : String(seconds), "expires_after");
    return { action: "begin", facts: { ...facts, purpose, keepMs }, bytes };
  },
  serialize: ({ files: [file] }) => Response.json(serializeUpload(file!, "pending")),
};

export const part: FileVerb = {
  parse: ({ body, params: { id = "" } }) => ({
    action: "part",
    id: bareId(id),
    content: formOf(body, "data").file.bytes,
  }),
  serialize: ({ files: [file], part }, { created }) =>
    Response.json({
      id: `part_${file!.id}_${part}`,
      object: "upload.part",
      created_at: created,
      upload_id: `upload_${file!.id}`,
    }),
};

export const complete: FileVerb = {
  parse({ body, params: { id = "" } }) {
    const { part_ids, md5 } = asObject(body);
    if (!Array.isArray(part_ids)) {
      throw new GatewayError("invalid_request", "Expected the ids of the parts, in order", { param: "part_ids" });
    }
    const prefix = `part_${bareId(id)}_`;
    const parts = asList(part_ids).map((part) => {
      const number = isText(part) && part.startsWith(prefix) ? part.slice(prefix.length) : "";
      // No part has that number, which stands for a part of another upload.
      return /^\d{1,4}$/.test(number) ? Number(number) : -1;
    });
    return { action: "complete", id: bareId(id), parts, ...(md5 !== undefined && { md5: textIn(md5, "md5") }) };
  },
  serialize: ({ files: [file] }) =>
    Response.json({ ...serializeUpload(file!, "completed"), file: serializeFile(file!) }),
};

export const cancel: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "cancel", id: bareId(id) }),
  serialize: ({ files: [file] }) => Response.json(serializeUpload(file!, "cancelled")),
};

function textIn(value: unknown, param: string): string {
  if (isText(value) && value !== "") return value;
  throw new GatewayError("invalid_request", "Expected a text", { param });
}

function serializeUpload(
  { id, bytes, created, name, purpose }: StoredFile,
  status: "pending" | "completed" | "cancelled",
): JsonObject {
  return {
    id: `upload_${id}`,
    object: "upload",
    bytes,
    created_at: seconds(created),
    expires_at: seconds(created + UPLOAD_MS),
    filename: name,
    purpose: purpose ?? "user_data",
    status,
  };
}
