/** What a model was found to refuse, in words and as settings. */
import { assertEquals } from "@std/assert";
import type { Learnable } from "../../src/relaxations/learnt.ts";
import { LearntRelaxations } from "../../src/relaxations/learnt.ts";
import { refusedParts } from "../../src/upstream/learnt.ts";
import { A_FORM, A_FORM_BESIDE_TOOLS } from "../../src/upstream/schema_in_prompt.ts";
import type { Upstream } from "../../src/upstream/upstream.ts";

const CASES: readonly [learnt: Learnable, kind: string, part: string, settings?: object][] = [
  ["top_k", "left out", "top_k", { refuses: ["top_k"] }],
  ["constructor", "left out", "constructor", { refuses: ["constructor"] }],
  ["null content", "left out", "null content"],
  [A_FORM, "in another form", "output schema in the prompt", { structuredOutput: "instruct" }],
  [A_FORM_BESIDE_TOOLS, "in another form", "output schema in the prompt beside tools"],
  [{ does: "omit", path: "top_k" }, "left out", "top_k", { refuses: ["top_k"] }],
  [{ does: "omit", path: "tools[].strict" }, "left out", "tools[].strict"],
  // As a setting it would drop the hints in turns as well.
  [{ does: "omit", path: "cache_control" }, "left out", "cache_control"],
  // As a setting it would ask for the schema in words.
  [{ does: "omit", path: "response_format" }, "left out", "response_format"],
  [{ does: "omit keyword", keyword: "pattern" }, "left out", "pattern in schemas"],
  [
    { does: "clamp", path: "top_logprobs", to: 5, isLeast: false, isOwn: true },
    "lowered or raised",
    "top_logprobs to 5",
  ],
  [{ does: "fill", path: "messages[].reasoning_content" }, "filled in", "messages[].reasoning_content filled in"],
  [{ does: "texts joined" }, "in another form", "texts joined"],
];

for (const [learnt, kind, part, settings] of CASES) {
  Deno.test(`refused parts: ${JSON.stringify(learnt)}`, () => {
    const refusals = new LearntRelaxations(() => 0);
    refusals.add("http://host/v1 org/model", [learnt], "key");
    assertEquals(refusedParts({ refusals } as Upstream), [
      {
        model: "org/model",
        kind,
        part,
        holdsFor: "one key",
        until: "1970-01-02T00:00:00.000Z",
        ...settings && { settings },
      } as ReturnType<typeof refusedParts>[number],
    ]);
  });
}
