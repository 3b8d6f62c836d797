/** Recognizes servers' messages about context overflow, and reads the numbers in them. */

/** How servers report that a conversation exceeds the context window. */
const OVERFLOW = new RegExp(
  [
    // As a code or a type.
    "context_length_exceeded|exceed_context_size|ContextWindowExceededError",
    "(maximum|max) context (length|limit)",
    "exceeds? the (available |model'?s? )?(maximum )?context",
    "exceeds? model'?s? maximum context",
    "context (window|length|size) (exceeded|exceeds limit|of)",
    "exceeds? context limit|context exceeds your deployment",
    "greater than the context length|configured context size is",
    "(prompt|input) length \\(?\\d+( tokens)?\\)? exceeds|sum of prompt length",
    "longer than the (maximum model|model's context) length",
    "(prompt|input)( \\([^)]*\\))? is too long",
    "(prompt|input) exceeds (the )?max",
    "maximum (prompt length|allowed (input )?length)",
    "input tokens? ((length|count) )?(\\(\\d+\\) )?(is )?(too long|exceeds?)",
    "input token count is \\d+ but|prompt token count of \\d+ exceeds",
    "exceeded model token limit|tokens in request more than max tokens allowed",
    "range of input length should be|too many tokens: (total|size)",
    "reduce the length of the messages",
    "`inputs` tokens \\+ `max_new_tokens` must be|`inputs` must have less than \\d+ tokens",
    "input \\(\\d+ tokens\\) is too large",
  ].join("|"),
  "i",
);

/**
 * A limit of the answer that no client sends, because it is negative or 0: servers that set it to what the window has left complain of
 * it themselves.
 */
const NOTHING_LEFT = new RegExp(
  [
    String
      .raw`\bmax[_ ]?(?:\w+[_ ])?tokens\b.{0,80}?(?:(?<![\w.])-\d{2,}|\b(?:got|received|given|was)\W{0,3}(?:-\d|0\b)|[=:]\W?-\d)`,
    String.raw`(?<![\w.])-\d+ is (?:less|lower|smaller) than .{0,40}\bmax_\w*tokens\b`,
  ].join("|"),
  "i",
);

/** Whether the words report a context overflow. */
export function saysOverflow(words: string): boolean {
  return OVERFLOW.test(words) || NOTHING_LEFT.test(words);
}

/** The numbers of a context overflow, in tokens. */
export interface Overflow {
  /** The requested tokens: the input, plus the limit of the answer if the server counts both. */
  asked: number;
  maximum: number;
  /** The two apart, where the server tells nothing but them. */
  apart?: { input: number; answer: number };
}

/**
 * The messages of each server's old and new versions. Messages without numbers are not listed. `total` counts the input and
 * the answer. More specific patterns come first.
 */
const WORDS: readonly RegExp[] = [
  // Anthropic
  /prompt is too long: (?<input>\d+) tokens > (?<window>\d+)/,
  /exceed context limit: (?<input>\d+) \+ (?<answer>\d+) > (?<window>\d+)/,
  // Fireworks
  /prompt is too long: (?<input>\d+), model maximum context length: (?<window>\d+)/,
  // vLLM, where the answer alone is too long, and from 0.16 on
  /too large: (?<answer>\d+)\. .*context length is (?<window>\d+) tokens and your request has (?<input>\d+) input/,
  /context length is (?<window>\d+) tokens\. However, you requested \d+ output tokens and your prompt contains \d+ input tokens, for a total of (?<total>\d+)/,
  /context length is (?<window>\d+) tokens\. However, your request has (?<input>\d+) input tokens plus (?<answer>\d+)/,
  // vLLM, prompts with pictures
  /\(?(?:total )?length (?<input>\d+)\) is (?:too long|longer) .*?(?:context length|maximum model length)(?: of)? (?<window>\d+)/,
  // OpenAI, DeepSeek, DeepInfra, OpenRouter, vLLM, llama-cpp-python
  /maximum context length is (?<window>\d+) tokens[.,] however,? (?:you requested|your (?:messages|input|prompt|request) (?:resulted in|has|contains)) (?<total>\d+)/i,
  /configured limit of (?<window>\d+) tokens\. Your messages resulted in (?<input>\d+)/,
  // SambaNova
  /maximum context length of \S+ is (?<window>\d+)\. However, answering your request will take (?<total>\d+)/,
  // SGLang, Together
  /context length of (?<window>\d+) tokens\. You requested a total of (?<total>\d+)/,
  /input \((?<input>\d+) tokens\) is longer than the model's context length \((?<window>\d+)/,
  // SGLang, TensorRT-LLM
  /(?:input|prompt) length \(?(?<input>\d+)(?: tokens)?\)? exceeds (?:the )?(?:model's )?(?:maximum|max)[ _][\w ]*?(?:length|len) (?:of )?\(?(?<window>\d+)/i,
  /prompt length \((?<input>\d+)(?:\.0)?\).*should not exceed max_num_tokens \((?<window>\d+)/,
  // TGI, TEI, Together
  /must be <= (?<window>\d+)\. Given: (?<input>\d+) `inputs` tokens and (?<answer>\d+) `max_new_tokens`/,
  /`inputs` must have less than (?<window>\d+) tokens\. Given: (?<input>\d+)/,
  // llama.cpp
  /request \((?<input>\d+) tokens\) exceeds the available context size \((?<window>\d+)/,
  /input \((?<input>\d+) tokens\) is too large to process[^]*batch size: (?<window>\d+)/,
  // llama-cpp-python
  /requested tokens \((?<total>\d+)\) exceed context window of (?<window>\d+)/i,
  // LM Studio
  /keep the first (?<input>\d+) tokens .*context length of only (?<window>\d+)/,
  /n_keep: (?<input>\d+)\s*>=? n_ctx: (?<window>\d+)/,
  // Cerebras
  /current length is (?<total>\d+) while limit is (?<window>\d+)/i,
  // Mistral
  /prompt contains (?<input>\d+) tokens .*too large for model with (?<window>\d+)/i,
  // Google
  /input token count \((?<input>\d+)\) exceeds the maximum number of tokens allowed \((?<window>\d+)/,
  /input token count is (?<input>\d+) but model only supports up to (?<window>\d+)/,
  // xAI
  /maximum prompt length is (?<window>\d+) but the request contains (?<input>\d+)/,
  // Moonshot
  /exceeded model token limit: (?<window>\d+) \(requested: (?<total>\d+)/,
  // Copilot, Cohere, and a proxy before llama.cpp
  /prompt token count of (?<input>\d+) exceeds the limit of (?<window>\d+)/,
  /prompt cannot exceed (?<window>\d+) - received (?<input>\d+)/,
  /prompt has (?<input>\d+) tokens, but the configured context size is (?<window>\d+)/i,
];

/** The numbers in a server's message. `undefined` if it does not state them clearly. */
export function readOverflow(message: string): Overflow | undefined {
  const plain = withPlainNumbers(message);
  const groups = groupsIn(plain);
  if (!groups) return guess(plain);
  const [total, input, answer, maximum] = [groups.total, groups.input, groups.answer, groups.window].map(Number);
  const asked = groups.total === undefined ? input! + (answer || 0) : total!;
  if (asked <= maximum!) return undefined;
  return {
    asked,
    maximum: maximum!,
    ...(groups.answer !== undefined && { apart: { input: input!, answer: answer! } }),
  };
}

function withPlainNumbers(message: string): string {
  return message.replace(/(\d),(?=\d{3}\b)/g, "$1").replace(/\b(?:about|at least) (?=\d)/g, "");
}

function groupsIn(message: string): Record<string, string | undefined> | undefined {
  return WORDS.map((words) => words.exec(message)?.groups).find(Boolean);
}

/** How servers report that the requested answer limit is too high, regardless of the input. */
const ANSWER_LIMITS: readonly RegExp[] = [
  // Anthropic
  /max_tokens: \d+ > (\d+)/,
  // OpenAI, SGLang
  /supports at most (\d+) (?:completion|output) tokens/,
  // DeepSeek, Alibaba
  /(?:valid range of max_tokens is|range of max_tokens should be) \[\d+, ?(\d+)\]/i,
  // Groq
  /max_tokens\W+must be less than or equal to \W?(\d+)/,
  // Amazon
  /maximum tokens you requested exceeds the model limit of (\d+)/,
];

/** vLLM, if the answer limit alone exceeds the window. The input is not counted yet. */
const WINDOW_ALONE = /max_(?:completion_)?tokens=\d+ ?cannot be greater than max_model_len=(?:max_total_tokens=)?(\d+)/;

/** The limit of an answer in tokens: a maximum, or a window shared with the input. `total` counts both. */
interface AnswerLimit {
  most?: number;
  window?: number;
  input?: number;
  total?: number;
}

/** The answer limit in a refusal. `undefined` if the refusal has no numbers. */
export function readAnswerLimit(message: string): AnswerLimit | undefined {
  const plain = withPlainNumbers(message);
  const most = ANSWER_LIMITS.map((words) => words.exec(plain)?.[1]).find(Boolean);
  if (most !== undefined) return { most: Number(most) };
  const alone = WINDOW_ALONE.exec(plain)?.[1];
  if (alone !== undefined) return { window: Number(alone) };
  const { input, total, window } = groupsIn(plain) ?? {};
  if (window === undefined) return undefined;
  return {
    window: Number(window),
    ...(input !== undefined && { input: Number(input) }),
    ...(total !== undefined && { total: Number(total) }),
  };
}

/** For an unknown message with exactly two numbers, the larger one is the request. */
function guess(message: string): Overflow | undefined {
  if (!/token/i.test(message)) return undefined;
  const plain = message.replace(/\b(?:error|code|status)\b\D{0,8}\d{3}\b/gi, "");
  const numbers = [...new Set((plain.match(/(?<![\w.-])\d{2,}(?![\w-]|\.\d)/g) ?? []).map(Number))].sort((a, b) =>
    b - a
  );
  const [asked, maximum] = numbers;
  return numbers.length === 2 ? { asked: asked!, maximum: maximum! } : undefined;
}
