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
    const unix = text.replaceAll("\r\n", "\n");
    const layout = layoutOf(document, unix);
    const plain = document.toString(layout);
    if (change.kind === "remove") document.deleteIn(change.path);
    else if (change.kind === "set") document.setIn(change.path, valueFor(document, change.value));
    else if (document.hasIn(change.path)) document.addIn(change.path, document.createNode(change.value));
    else document.setIn(change.path, document.createNode([change.value]));
    const changed = document.toString(layout);
    // The library writes the whole file in a layout of its own; only the lines that the change is about are taken from it.
    const kept = mergedByLines(plain, unix, changed);
    const written = saysTheSame(kept, document) ? kept : changed;
    return text.includes("\r\n") ? written.replaceAll("\n", "\r\n") : written;
  },
};

/** The usual one first. */
const LAYOUTS = [true, false].flatMap((indentSeq) =>
  [true, false].flatMap((flowCollectionPadding) =>
    [2, 4].map((indent) => ({ lineWidth: 0, indentSeq, flowCollectionPadding, indent }))
  )
);
/** Its warnings hold parts of the file. */
const QUIET = { logLevel: "error" } as const;

/** Of the layouts that the library can write, the one that is most like the file's. */
function layoutOf(document: ReturnType<typeof documentIn>, text: string): typeof LAYOUTS[number] {
  const lines = text.split("\n");
  const changes = LAYOUTS.map((layout) => {
    const written = new Set(document.toString(layout).split("\n"));
    return lines.filter((line) => !written.has(line)).length;
  });
  return LAYOUTS[changes.indexOf(Math.min(...changes))]!;
}

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
