/** The notations of model families, one table a family. */
import {
  between,
  called,
  type CallForm,
  readList,
  readNumbered,
  readObjects,
  readSeparated,
  readToolCall,
  readToolCalls,
  section,
  tagged,
} from "./calls.ts";
import { readPython } from "./python.ts";
import { FUNCTION_TAG, invokeTag, type Tagged } from "./tagged.ts";
import { Marks } from "./source.ts";

export interface TextFamily {
  /** Matches the names of its models. */
  models: RegExp;
  /** The marks that open thoughts, each with the one that closes it. */
  thoughts?: Readonly<Record<string, string>>;
  /** The marks that open texts, each with the one that closes it. */
  texts?: Readonly<Record<string, string>>;
  calls?: readonly CallForm[];
  /** An answer may be one call as JSON, or a list of calls as Python writes them, and nothing else. */
  isBare?: true;
  /** The marks that engines leave behind calls and thoughts: the ends of turns, and of tags that were not opened. */
  leftovers?: readonly string[];
  /** Each message has a header with its channel. */
  channels?: true;
}

const THINK = { "<think>": "</think>" };
const TOOL_CALL: CallForm = { open: "<tool_call>", read: readToolCall };
const FUNCTION: CallForm = { open: "<function=", read: tagged(FUNCTION_TAG), isInner: true };
const TAG_ENDS = ["</tool_call>", "</function>", "</arg_value>", "</parameter>", "</invoke>"];

const DSML = ["｜DSML｜", "｜｜DSML｜｜", "|DSML|", "||DSML||"];

/** Kimi K3 opens and closes everything with these tokens around its name. */
const opened = (name: string) => `<|open|>${name}<|sep|>`;
const closed = (name: string) => `<|close|>${name}<|sep|>`;

const K3_CALL: Tagged = {
  nameEnd: '"',
  headerEnd: "<|sep|>",
  key: '<|open|>argument key="',
  keyEnd: "<|sep|>",
  valueEnd: closed("argument"),
  end: closed("call"),
  object: { open: "<|open|>json", headerEnd: "<|sep|>", close: closed("json") },
};

/** MiniMax M3 begins every tag of a call with it. */
const M3 = "]<]minimax[>[";

const M3_CALL: Tagged = {
  nameEnd: '">',
  key: `${M3}<`,
  keyEnd: ">",
  valueEnd: `${M3}</{key}>`,
  end: `${M3}</invoke>`,
  nested: M3,
};

/** No opening mark of a family may begin with another one. The first family that matches counts. */
export const TEXT_FAMILIES: readonly TextFamily[] = [
  {
    models: /\bkimi-?k3/i,
    thoughts: { [opened("think")]: closed("think") },
    texts: { [opened("response")]: closed("response") },
    calls: [section(opened("tools"), '<|open|>call tool="', closed("tools"), tagged(K3_CALL))],
    leftovers: [closed("message"), closed("tools"), "<|end_of_msg|>"],
  },
  {
    models: /\bkimi/i,
    thoughts: { ...THINK, "◁think▷": "◁/think▷" },
    calls: [
      section("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_calls_section_end|>", readNumbered),
      { open: "<|tool_call_begin|>", read: readNumbered, isToken: true, isInner: true },
    ],
    leftovers: ["<|tool_calls_section_end|>", "<|tool_call_end|>", "<|im_end|>"],
  },
  {
    models: /\bminimax-?m3/i,
    thoughts: { "<mm:think>": "</mm:think>" },
    calls: [section(`${M3}<tool_call>`, `${M3}<invoke name="`, `${M3}</tool_call>`, tagged(M3_CALL))],
  },
  {
    models: /\bminimax/i,
    thoughts: THINK,
    calls: [section("<minimax:tool_call>", '<invoke name="', "</minimax:tool_call>", tagged(invokeTag("")))],
    leftovers: TAG_ENDS,
  },
  {
    models: /\bdeepseek/i,
    thoughts: THINK,
    calls: [
      section("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>", readSeparated),
      ...DSML.flatMap((bars) =>
        ["function_calls", "tool_calls"].map((name) =>
          section(`<${bars}${name}>`, `<${bars}invoke name="`, `</${bars}${name}>`, tagged(invokeTag(bars)))
        )
      ),
    ],
    leftovers: ["<｜end▁of▁sentence｜>"],
  },
  {
    models: /\bgemma-?4/i,
    thoughts: { "<|channel>thought": "<channel|>" },
    calls: [between("<|tool_call>", "<tool_call|>", called('<|"|>'))],
    leftovers: ["<|tool_response>", "<turn|>"],
  },
  {
    models: /\bfunction-?gemma/i,
    calls: [between("<start_function_call>", "<end_function_call>", called("<escape>"))],
    leftovers: ["<start_function_response>", "<end_of_turn>"],
  },
  { models: /\bgpt-?oss/i, channels: true },
  {
    models: /\b(qwen|qwq|hermes)/i,
    thoughts: THINK,
    calls: [TOOL_CALL, FUNCTION],
    leftovers: [...TAG_ENDS, "<|im_end|>"],
  },
  { models: /\bglm/i, thoughts: THINK, calls: [TOOL_CALL], leftovers: TAG_ENDS },
  {
    models: /\b(mistral|ministral|magistral|mixtral|codestral|devstral|pixtral)/i,
    thoughts: { "[THINK]": "[/THINK]" },
    calls: [{ open: "[TOOL_CALLS]", read: readToolCalls, isToken: true }],
  },
  {
    models: /\bllama/i,
    calls: [{ open: "<|python_tag|>", read: readObjects, isToken: true }, FUNCTION],
    isBare: true,
    leftovers: ["<|eom_id|>", "<|eot_id|>", "<|eot|>"],
  },
  {
    models: /\bseed-?oss/i,
    thoughts: { "<seed:think>": "</seed:think>" },
    calls: [section("<seed:tool_call>", "<function=", "</seed:tool_call>", tagged(FUNCTION_TAG))],
  },
  {
    models: /\blfm-?2/i,
    thoughts: THINK,
    calls: [between("<|tool_call_start|>", "<|tool_call_end|>", readPython)],
    leftovers: ["<|im_end|>"],
  },
  {
    models: /\b(granite|phi-?4)/i,
    thoughts: THINK,
    calls: [{ open: "<|tool_call|>", read: readList, isToken: true }, TOOL_CALL],
    leftovers: [...TAG_ENDS, "<|/tool_call|>", "<|end_of_text|>", "<|end|>"],
  },
  {
    models: /\bnemotron/i,
    thoughts: THINK,
    calls: [between("<TOOLCALL>", "</TOOLCALL>", readList), TOOL_CALL, FUNCTION],
    leftovers: TAG_ENDS,
  },
  {
    models: /\b(hunyuan|hy-?\d)/i,
    thoughts: THINK,
    texts: { "<answer>": "</answer>" },
    calls: [between("<tool_calls>", "</tool_calls>", readList)],
  },
  {
    models: /\b(c4ai|command|cohere|north)/i,
    thoughts: { "<|START_THINKING|>": "<|END_THINKING|>" },
    texts: { "<|START_RESPONSE|>": "<|END_RESPONSE|>" },
    calls: [between("<|START_ACTION|>", "<|END_ACTION|>", readList)],
    leftovers: ["<|END_OF_TURN_TOKEN|>"],
  },
  {
    models: /\bintern/i,
    thoughts: THINK,
    calls: [between("<|action_start|><|plugin|>", "<|action_end|>", readList)],
    leftovers: ["<|im_end|>"],
  },
  // For all models: tags that several families write.
  {
    models: /(?!)/,
    thoughts: { "<thinking>": "</thinking>" },
    calls: [section("<function_calls>", '<invoke name="', "</function_calls>", tagged(invokeTag("")))],
  },
];

/** The marks that begin a message with a channel: its header follows. */
export const CHANNELS = ["<|channel|>", "<|start|>assistant"];
export const CHANNEL_ENDS = ["<|end|>", "<|return|>"];

export interface Grammar {
  /** The marks that open thoughts, each with those that close them; the same for texts. */
  thoughts: ReadonlyMap<string, readonly string[]>;
  texts: ReadonlyMap<string, readonly string[]>;
  calls: readonly CallForm[];
  channels: readonly string[];
  /** The marks that are dropped where no text stands before them. */
  leftovers: readonly string[];
  isBare: boolean;
  /** All marks that mean something anywhere. */
  marks: Marks;
}

function grammarOf(families: readonly TextFamily[], more: readonly string[] = []): Grammar {
  const pairs = (pick: (family: TextFamily) => Readonly<Record<string, string>> | undefined) =>
    new Map(families.flatMap((family) => Object.entries(pick(family) ?? {})).map(([open, close]) => [open, [close]]));
  const thoughts = pairs(({ thoughts }) => thoughts);
  const texts = pairs(({ texts }) => texts);
  const calls = new Map(families.flatMap(({ calls = [] }) => calls).map((form) => [form.open, form]));
  const channels = families.some(({ channels }) => channels) ? CHANNELS : [];
  const closes = [...thoughts.values(), ...texts.values()].flat();
  const leftovers = [...new Set([...families.flatMap(({ leftovers = [] }) => leftovers), ...closes, ...more])];
  const ends = channels.length > 0 ? CHANNEL_ENDS : [];
  return {
    thoughts,
    texts,
    calls: [...calls.values()],
    channels,
    leftovers,
    isBare: families.some(({ isBare }) => isBare),
    marks: new Marks([
      ...new Set([...thoughts.keys(), ...texts.keys(), ...calls.keys(), ...channels, ...ends, ...leftovers]),
    ]),
  };
}

let all: Grammar | undefined;

/** The notations of all families. */
export function fullGrammar(): Grammar {
  return all ??= grammarOf(TEXT_FAMILIES);
}

const ofFamily = new Map<TextFamily, Grammar>();

/** The notation of a model's family. `undefined` if that is not known. */
export function grammarFor(model: string): Grammar | undefined {
  const family = TEXT_FAMILIES.find(({ models }) => models.test(model));
  if (!family) return undefined;
  const known = ofFamily.get(family) ?? grammarOf([family]);
  ofFamily.set(family, known);
  return known;
}
