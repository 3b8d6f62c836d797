/**
 * The marker tokens of model families that were trained to fill gaps, and the texts at which their completions end. From the prompt
 * templates of the models' own pages, and of Continue and Zed, which use them with raw completions.
 */
import type { CompleteRequest } from "../../src/canonical/complete.ts";
import type { Target } from "../../src/contract/driver.ts";

export interface Family {
  /** Matches the names of its models. */
  names: RegExp;
  /** The marks of the prefix, the suffix and the gap. */
  prefix: string;
  suffix: string;
  middle: string;
  /** Whether the suffix comes before the prefix. */
  suffixFirst?: true;
  /** Before and after all of it, where the marks stand inside a turn. */
  opening?: string;
  closing?: string;
  /** The mark before another file and its name. */
  file?: string;
  /** More texts at which completions end, besides the marks. */
  stops?: readonly string[];
}

const PIPED = { prefix: "<|fim_prefix|>", suffix: "<|fim_suffix|>", middle: "<|fim_middle|>" };
const CODE = { prefix: "<|code_prefix|>", suffix: "<|code_suffix|>", middle: "<|code_middle|>" };

/** The first match counts. */
const FAMILIES: readonly Family[] = [
  {
    names: /seed-?coder|\bzeta-?2/i,
    prefix: "<[fim-prefix]>",
    suffix: "<[fim-suffix]>",
    middle: "<[fim-middle]>",
    suffixFirst: true,
  },
  {
    names: /codegeex-?4/i,
    ...CODE,
    suffixFirst: true,
    opening: "<|user|>\n###MODE:BLOCK\n",
    closing: "<|assistant|>\n",
    stops: ["<|endoftext|>", "<|user|>", "<|assistant|>"],
  },
  { names: /\bglm-?[45]/i, ...CODE, stops: ["<|endoftext|>", "<|user|>"] },
  {
    names: /codegemma/i,
    ...PIPED,
    file: "<|file_separator|>",
    stops: ["<|file_separator|>", "<end_of_turn>", "<eos>"],
  },
  {
    names: /codeqwen|starcoder|stable-?code|granite.{0,20}code|smollm.{0,20}code/i,
    prefix: "<fim_prefix>",
    suffix: "<fim_suffix>",
    middle: "<fim_middle>",
    file: "<file_sep>",
    stops: ["<|endoftext|>", "<file_sep>"],
  },
  {
    names: /qwen.{0,20}coder/i,
    ...PIPED,
    file: "<|file_sep|>",
    stops: ["<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|repo_name|>", "<|im_start|>", "<|im_end|>"],
  },
  {
    // Bars of full width, and a block in place of the space.
    names: /deepseek/i,
    prefix: "<\uff5cfim\u2581begin\uff5c>",
    suffix: "<\uff5cfim\u2581hole\uff5c>",
    middle: "<\uff5cfim\u2581end\uff5c>",
    stops: ["<\uff5cend\u2581of\u2581sentence\uff5c>"],
  },
  { names: /codestral/i, prefix: "[PREFIX]", suffix: "[SUFFIX]", middle: "", suffixFirst: true, file: "+++++ " },
  { names: /code-?llama/i, prefix: "<PRE> ", suffix: " <SUF>", middle: " <MID>", stops: ["<EOT>"] },
];

/** The family of a model, or the form that is configured for it. */
export function familyOf({ model, fillTemplate }: Pick<Target, "model" | "fillTemplate">): Family | undefined {
  return fillTemplate === undefined ? FAMILIES.find(({ names }) => names.test(model)) : familyFrom(fillTemplate);
}

/** A template: `<PRE>{prefix}<SUF>{suffix}<MID>`. */
function familyFrom(template: string): Family {
  const [, before = "", between = "", after = ""] = /^(.*)\{(?:prefix|suffix)\}(.*)\{(?:prefix|suffix)\}(.*)$/s
    .exec(template) ?? [];
  const suffixFirst = template.indexOf("{suffix}") < template.indexOf("{prefix}");
  return {
    names: /^/,
    prefix: suffixFirst ? between : before,
    suffix: suffixFirst ? before : between,
    middle: after,
    ...(suffixFirst && { suffixFirst }),
  };
}

/** The gap and what is around it. */
export type Gap = Pick<CompleteRequest, "suffix" | "files" | "begin"> & { prompt: string };

/** The gap as one text that ends where the model goes on. */
export function writeGap({ prompt, suffix = "", files = [], begin = "" }: Gap, family: Family): string {
  const { prefix, suffix: suffixMark, middle, suffixFirst, opening = "", closing = "" } = family;
  const others = files.map((file) => writeFile(file, family)).join("");
  const before = `${prefix}${prompt}`;
  const after = `${suffixMark}${suffix}`;
  return `${opening}${others}${suffixFirst ? after + before : before + after}${middle}${closing}${begin}`;
}

/** Models without a mark for files get their text alone. */
function writeFile({ name = "file", text }: { name?: string; text: string }, { file }: Family): string {
  const ending = text.endsWith("\n") ? "" : "\n";
  return file === undefined ? `${text}${ending}` : `${file}${name}\n${text}${ending}`;
}

/** The texts at which completions of the family end, for servers that write its marks as text. */
export function stopsOf({ prefix, suffix, middle, stops = [] }: Family): string[] {
  const marks = [prefix, suffix, middle].map((mark) => mark.trim()).filter((mark) => mark !== "");
  return [...new Set([...stops, ...marks])];
}

/** The gap in a prompt that its client wrote with marks. `undefined` if there are none. */
export function readGap(prompt: string): Gap | undefined {
  for (const { prefix, suffix, middle, suffixFirst } of FAMILIES) {
    const [first, second] = suffixFirst ? [suffix, prefix] : [prefix, suffix];
    const from = prompt.indexOf(first);
    const between = from < 0 ? -1 : prompt.indexOf(second, from + first.length);
    if (between < 0) continue;
    const end = middle === "" ? prompt.length : prompt.lastIndexOf(middle);
    if (end < between + second.length) continue;
    const head = prompt.slice(from + first.length, between);
    const tail = prompt.slice(between + second.length, end);
    return suffixFirst ? { prompt: tail, suffix: head } : { prompt: head, suffix: tail };
  }
  return undefined;
}
