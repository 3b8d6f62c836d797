/** Files in the form of the vendor of the messages wire. */
import { bareId, MADE_BY_TOOL, type StoredFile } from "../../src/canonical/files.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { afterId, countIn, type FileVerb, formOf, keepMsOf, serializeContent, uploadOf } from "../shared/files.ts";

const MOST_SECONDS = 7_776_000;
const [USUAL_PAGE, MOST_LISTED, MOST_IDS] = [20, 1_000, 100];

export const upload: FileVerb = {
  parse({ body }) {
    const { file, fields } = formOf(body);
    const keepMs = keepMsOf(fields.get("expires_in_seconds"), MOST_SECONDS, "expires_in_seconds");
    return uploadOf(file, { keepMs });
  },
  serialize: ({ files: [file] }) => Response.json(serializeFile(file!)),
};

export const list: FileVerb = {
  parse({ query }) {
    if (idsIn(query).length > MOST_IDS) {
      throw new GatewayError("invalid_request", `Expected ${MOST_IDS} ids at most`, { param: "ids" });
    }
    return { action: "list" };
  },
  serialize({ files }, { wire: { query } }) {
    const limit = countIn(query, "limit", USUAL_PAGE, MOST_LISTED);
    const ids = idsIn(query).map(bareId);
    // No file has a scope here.
    const asked = query.get("scope_id") ? [] : ids.length > 0 ? files.filter(({ id }) => ids.includes(id)) : files;
    const before = query.get("before_id");
    const rest = before
      ? afterId(asked.toReversed(), before, "before_id")
      : afterId(asked, query.get("page") ?? query.get("after_id"), query.has("page") ? "page" : "after_id");
    const page = rest.slice(0, limit);
    const data = (before ? page.toReversed() : page).map(serializeFile);
    const hasMore = rest.length > limit;
    return Response.json({
      data,
      next_page: hasMore && !before ? data.at(-1)!.id : null,
      // Clients from before the pages go on with these.
      has_more: hasMore,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    });
  },
};

export const get: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "get", id: bareId(id) }),
  serialize: ({ files: [file] }) => Response.json(serializeFile(file!)),
};

export const content: FileVerb = {
  // Only files that tools made can be downloaded.
  parse: ({ params: { id = "" } }) => ({ action: "content", id: bareId(id) }),
  serialize(answer) {
    if (isDownloadable(answer.files[0]!)) return serializeContent(answer);
    void answer.content?.cancel();
    throw new GatewayError("invalid_request", "Uploaded files cannot be downloaded", {
      param: "file_id",
      reason: "file_not_downloadable",
    });
  },
};

export const remove: FileVerb = {
  parse: ({ params: { id = "" } }) => ({ action: "delete", id: bareId(id) }),
  serialize: ({ files: [file] }) => Response.json({ id: `file_${file!.id}`, type: "file_deleted" }),
};

function idsIn(query: URLSearchParams): string[] {
  return [...query.getAll("ids[]"), ...query.getAll("ids")];
}

function isDownloadable({ purpose }: StoredFile): boolean {
  return purpose === MADE_BY_TOOL;
}

function serializeFile(file: StoredFile): JsonObject {
  const { id, name, mediaType, bytes, created, expires } = file;
  return {
    id: `file_${id}`,
    type: "file",
    filename: name,
    mime_type: mediaType,
    size_bytes: bytes,
    created_at: new Date(created).toISOString(),
    downloadable: isDownloadable(file),
    expires_at: expires === undefined ? null : new Date(expires).toISOString(),
    scope: null,
  };
}
