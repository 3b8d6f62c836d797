/** Files in the form of the vendor of the chat wire, which its responses use, too. */
import { bareId, type StoredFile } from "../../src/canonical/files.ts";
import { isText, type JsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import {
  afterId,
  countIn,
  type FileVerb,
  formOf,
  keepMsOf,
  seconds,
  serializeContent,
  uploadOf,
} from "../shared/files.ts";

const PURPOSES = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"];
const MOST_SECONDS = 2_592_000;
const MOST_LISTED = 10_000;

export const upload: FileVerb = {
  parse({ body }) {
    const { file, fields } = formOf(body);
    const purpose = purposeIn(fields.get("purpose"));
    const [anchor, after] = [fields.get("expires_after[anchor]"), fields.get("expires_after[seconds]")];
    const keepMs = keepMsIn(purpose, anchor, after, "expires_after");
    return uploadOf(file, { purpose, keepMs });
  },
  serialize: ({ files: [file] }) => Response.json(serializeFile(file!)),
};

export const list: FileVerb = {
  parse: () => ({ action: "list" }),
  serialize({ files }, { wire: { query } }) {
    const purpose = query.get("purpose");
    const order = query.get("order") ?? "desc";
    if (order !== "asc" && order !== "desc") {
      throw new GatewayError("invalid_request", 'Expected "asc" or "desc"', { param: "order" });
    }
    const limit = countIn(query, "limit", MOST_LISTED, MOST_LISTED);
    const ordered = order === "asc" ? files.toReversed() : files;
    const asked = purpose ? ordered.filter((file) => purposeOf(file) === purpose) : ordered;
    const rest = afterId(asked, query.get("after"), "after");
    const data = rest.slice(0, limit).map(serializeFile);
    return Response.json({
      object: "list",
      data,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: rest.length > limit,
    });
  },
};

export const get: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "get", id: bareId(id) }),
  serialize: ({ files: [file] }) => Response.json(serializeFile(file!)),
};

export const content: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "content", id: bareId(id) }),
  serialize: serializeContent,
};

export const remove: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "delete", id: bareId(id) }),
  serialize: ({ files: [file] }) => Response.json({ id: `file-${file!.id}`, object: "file", deleted: true }),
};

export function purposeIn(purpose: unknown): string {
  if (isText(purpose) && PURPOSES.includes(purpose)) return purpose;
  const message = `Expected one of ${PURPOSES.map((one) => `"${one}"`).join(", ")}`;
  throw new GatewayError("invalid_request", message, { param: "purpose" });
}

/** How long a file of this purpose is kept, in milliseconds. `param`: the field that says so. */
export function keepMsIn(
  purpose: string,
  anchor: unknown,
  after: string | undefined,
  param: string,
): number | undefined {
  if (anchor !== undefined && anchor !== "created_at") {
    throw new GatewayError("invalid_request", 'Expected "created_at"', { param: `${param}[anchor]` });
  }
  // Files of batches are never kept for good.
  return keepMsOf(after, MOST_SECONDS, `${param}[seconds]`) ?? (purpose === "batch" ? MOST_SECONDS * 1000 : undefined);
}

/** Clients of other wires upload without a purpose. */
function purposeOf({ purpose = "user_data" }: StoredFile): string {
  return purpose;
}

export function serializeFile(file: StoredFile): JsonObject {
  const { id, bytes, created, expires, name } = file;
  return {
    id: `file-${id}`,
    object: "file",
    bytes,
    created_at: seconds(created),
    ...(expires !== undefined && { expires_at: seconds(expires) }),
    filename: name,
    purpose: purposeOf(file),
    status: "processed",
  };
}
