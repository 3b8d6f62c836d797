import { parseDocument } from "yaml";
import type { JsonValue } from "../../../canonical/json.ts";
import { builtin } from "../../../util/builtin.ts";
import { mergedByLines } from "../merge.ts";
import { type Format, FormatError } from "./format.ts";

export const yamlFormat: Format = {
  read(text) {
    const document = documentIn(text);
    try {
      return (document.toJS() ?? undefined) as JsonValue | undefined;
    } catch (error) {
      throw new FormatError((error as Error).message); // aliases of what is not there, or of too much
    }
  },
  change(text, change) {
    const document = documentIn(text);
    const plain = document.toString(LAYOUT);
    if (change.kind === "remove") document.deleteIn(change.path);
    else if (change.kind === "set") document.setIn(change.path, valueFor(document, change.value));
    else if (document.hasIn(change.path)) document.addIn(change.path, document.createNode(change.value));
    else document.setIn(change.path, document.createNode([change.value]));
    const changed = document.toString(LAYOUT);
    const unix = text.replaceAll("\r\n", "\n");
    // The library writes the whole file in its own layout; only the lines that the change is about are taken from it.
    const kept = mergedByLines(plain, unix, changed);
    const written = saysTheSame(kept, document) ? kept : changed;
    return text.includes("\r\n") ? written.replaceAll("\n", "\r\n") : written;
  },
};

const LAYOUT = { lineWidth: 0 };
/** Its warnings hold parts of the file. */
const QUIET = { logLevel: "error" } as const;

function saysTheSame(text: string, document: ReturnType<typeof documentIn>): boolean {
  const other = parseDocument(text, QUIET);
  return other.errors.length === 0 && builtin("node:util").isDeepStrictEqual(other.toJS(), document.toJS());
}

/** A plain value is put into the node that is there, which keeps its comment. */
function valueFor(document: ReturnType<typeof documentIn>, value: JsonValue): unknown {
  return typeof value === "object" && value !== null ? document.createNode(value) : value;
}

function documentIn(text: string) {
  const document = parseDocument(text, QUIET);
  const [error] = document.errors;
  if (error) throw new FormatError(error.message.split("\n")[0]!.replace(/:$/, ""));
  return document;
}
