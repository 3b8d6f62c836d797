/** Which notations are read in the answers of a target. */
import { asFunctionTool } from "../../../src/transforms/custom_tool.ts";
import { allowedTools } from "../../../src/transforms/offered_tools.ts";
import type { GenerateRequest } from "../../../src/canonical/generate.ts";
import { upstreamName } from "../../../src/transforms/tool_names.ts";
import type { Target } from "../../../src/contract/driver.ts";
import type { CallableTools } from "./callable_tools.ts";
import { fullGrammar, grammarFor } from "./grammar.ts";
import { TextForms } from "./text_forms.ts";

/** Families whose templates write the opening tag themselves, whatever was asked, so that answers begin with reasoning. */
const OPENED = /deepseek-r1|qwq|-thinking(?:-|$)|minimax-m2/i;

/** The beginning of a text that may hold a form. */
const BEGUN = /^\s*[<[{\]◁]/;

/** The reader of an answer's text. `undefined` if the target leaves texts as they are. */
export function textFormsFor(input: GenerateRequest, { textForms, model }: Target): TextForms | undefined {
  const isAuto = textForms === "auto" && input.tools?.length;
  if (textForms !== "parse" && !isAuto) return undefined;
  const grammar = isAuto ? grammarFor(model) : fullGrammar();
  return grammar && new TextForms(grammar, callableIn(input), {
    isOpened: !isAuto && OPENED.test(model),
    isAtStart: textForms === "auto",
  });
}

/** Whether the text of a whole answer to a request with tools may begin with a form that is read by default. */
export function mayHoldForms(text: unknown, { textForms, model }: Target): boolean {
  return textForms === "auto" && typeof text === "string" && BEGUN.test(text) && grammarFor(model) !== undefined;
}

function callableIn({ tools = [], toolChoice }: GenerateRequest): CallableTools {
  const offered = toolChoice?.type === "none" ? [] : allowedTools(tools, toolChoice).flatMap((tool) => {
    if (tool.type === "hosted") return [];
    // As the model knows it.
    return [[upstreamName(tool.name), (tool.type === "custom" ? asFunctionTool(tool) : tool).parameters] as const];
  });
  return new Map(offered);
}
