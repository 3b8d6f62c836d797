/** The parts and forms of a request that are given up where a host refuses them, as Markdown. */
import { LAYOUT as CHAT } from "../../plugins/chat/layout.ts";
import { LAYOUT as MESSAGES } from "../../plugins/messages/layout.ts";
import { LAYOUT as RESPONSES } from "../../plugins/responses/layout.ts";
import { UPSTREAM_WIRES, type UpstreamWire } from "../../plugins/programs/fidelity/sample.ts";
import { type BodyLayout, type FormName, FORMS } from "../../src/contract/body_layout.ts";

const LAYOUTS: Record<UpstreamWire, BodyLayout> = { chat: CHAT, messages: MESSAGES, responses: RESPONSES };

const LOSSES: Record<FormName, string> = {
  "asked streamed": "nothing: the whole answer is collected from the stream",
  "texts joined": "where one text part ends and the next begins",
  "arguments as objects": "arguments of earlier calls that are no object: they stand in one",
  "arguments parsed": "nothing: arguments are objects in place of their JSON",
  "tool changes in words": "that the vendor keeps its prompt cache where tools change: they are offered as they stand",
  "results of tools as texts": "parts of results that are no text",
  "turns joined": "where one turn ends and the next of its role begins",
  "short ids of calls": "nothing: the client's own ids come back",
  "system messages merged": "the places of later instructions",
  "system messages in the user turn": "the rank of instructions",
  "schemas with types": "nothing: a schema without `type` gets one",
  "schemas simplified":
    "`pattern`, `format`, lengths, `$ref` to other documents, boolean schemas, all but one of several types",
  "schemas bare": "all but types, names, required fields and descriptions of schemas",
  "schemas empty": "schemas: the arguments are an object",
  "thinking off": "thinking",
  "tool choice auto": "that the model must call a tool",
  "pictures as placeholders": "pictures of earlier turns",
};

/** The relaxations that are no forms. */
const PARTS = [
  ["a field left out", "the field, unless the request would be another one without it (below)"],
  ["a value clamped", "what is beyond the bound that the host names"],
  ["a keyword left out", "the keyword of schemas, in all of them"],
  ["a field filled in", "nothing: it says that there is nothing"],
] as const;

export function renderRelaxations(): string {
  const rows = [
    ["relaxation", "what is given up"],
    ["---", "---"],
    ...PARTS,
    ...FORMS.map((form) => [form, LOSSES[form]]),
  ].map((cells) => `| ${cells.join(" | ")} |`);
  const kept = UPSTREAM_WIRES.map((wire) => {
    const { kept, limits } = LAYOUTS[wire];
    const fields = [...new Set([...kept, ...limits])].map((field) => `\`${field}\``);
    return `- ${wire}: ${fields.join(", ")}`;
  });
  return `${rows.join("\n")}\n\nThese fields are never left out:\n\n${kept.join("\n")}`;
}
