/** Which notations are read in the answers of a target. */
import { asFunctionTool } from "../../../src/transforms/custom_tool.ts";
import { allowedTools } from "../../../src/transforms/offered_tools.ts";
import type { GenerateRequest } from "../../../src/canonical/generate.ts";
import { upstreamName } from "../../../src/transforms/tool_names.ts";
import type { Target } from "../../../src/contract/driver.ts";
import type { CallableTools } from "./callable_tools.ts";
import { fullGrammar, type Grammar, grammarFor } from "./grammar.ts";
import { TextForms } from "./text_forms.ts";

/** Families whose templates write the opening tag themselves, whatever was asked, so that answers begin with reasoning. */
const OPENED = /deepseek-r1|qwq|-thinking(?:-|$)|minimax-m2/i;

/** The beginning of a text that may hold a form. */
const BEGUN = /^\s*[<[{\]◁]/;

/** The reader of an answer's text. `undefined` if the target leaves texts as they are. */
export function textFormsFor(input: GenerateRequest, target: Target): TextForms | undefined {
  const grammar = grammarAt(input, target);
  if (!grammar) return undefined;
  const isOpened = target.textForms === "parse" && OPENED.test(target.model);
  return new TextForms(grammar, callableIn(input), { isOpened, isAtStart: target.textForms === "auto" });
}

/** Whether the text of a whole answer may hold more than text. */
export function mayHoldForms(text: string, input: GenerateRequest, target: Target): boolean {
  return target.textForms === "parse" || (BEGUN.test(text) && grammarAt(input, target) !== undefined);
}

function grammarAt({ tools }: GenerateRequest, { textForms, model }: Target): Grammar | undefined {
  if (textForms === "parse") return fullGrammar();
  return textForms === "auto" && tools?.length ? grammarFor(model) : undefined;
}

function callableIn({ tools = [], toolChoice }: GenerateRequest): CallableTools {
  const offered = toolChoice?.type === "none" ? [] : allowedTools(tools, toolChoice).flatMap((tool) => {
    if (tool.type === "hosted") return [];
    // As the model knows it.
    return [[upstreamName(tool.name), (tool.type === "custom" ? asFunctionTool(tool) : tool).parameters] as const];
  });
  return new Map(offered);
}
