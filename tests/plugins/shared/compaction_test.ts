/** The fields of a request to shorten a conversation: what is not for the gateway stays for the wire's own servers. */
import { assertEquals } from "@std/assert";
import { parseCompaction as parseMessages } from "../../../plugins/messages/compaction.ts";
import { parseCompaction as parseResponses } from "../../../plugins/responses/compaction.ts";
import type { CompactionRequest } from "../../../src/canonical/compaction.ts";
import type { Extra } from "../../../src/canonical/extra.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";

const WIRES: [
  wire: string,
  compact: JsonObject,
  listOf: (entries: JsonObject[]) => JsonObject | JsonObject[],
  parse: (extra: Extra) => CompactionRequest | undefined,
][] = [
  ["messages", { type: "compact_20260112" }, (edits) => ({ edits }), parseMessages],
  [
    "responses",
    { type: "compaction", compact_threshold: 10 },
    (entries) => entries,
    (extra) => parseResponses({ model: "m", input: "Hello", ...extra.fields }, extra),
  ],
];

for (const [wire, compact, listOf, parse] of WIRES) {
  Deno.test(`compaction: its entry is taken out of the list, and the other entries and fields stay · ${wire}`, () => {
    const other = { type: "clear_tool_uses_20250919" };
    const left = (more: JsonObject, ...entries: JsonObject[]) =>
      parse({ wire, fields: { context_management: listOf(entries), ...more } })?.extra;
    assertEquals(left({ metadata_x: 1 }, other, compact), {
      wire,
      fields: { metadata_x: 1, context_management: listOf([other]) },
    });
    assertEquals(left({ metadata_x: 1 }, compact), { wire, fields: { metadata_x: 1 } });
    assertEquals(left({}, compact), undefined);
  });
}
