/** Finds which part of a request an upstream refused, on any wire. The upstream may answer without it. */
import { CACHE_HINT } from "../../src/transforms/cache_hints.ts";
import { asObject } from "../../src/canonical/json.ts";
import { SAMPLING_NAMES } from "./sampling.ts";

/** How much of a refusal is read, in characters. Some servers repeat the whole request in it. */
const LONGEST = 4_096;

/** The text of a refusal, with escaped quotation marks restored. */
export function refusalText(body: unknown, longest = LONGEST): string {
  if (body instanceof Uint8Array) return "";
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "").replaceAll('\\"', '"');
  return text.slice(0, longest);
}

/**
 * Whether a server failed because it does not know a part of the request: llama-cpp-python answers 500 with pydantic's list
 * of what is wrong and where, as Python prints it, before it asks its model anything.
 */
export function isValidation({ status, body }: { status: number; body: unknown }): boolean {
  return status === 500 && PLACED.test(refusalText(body));
}

const PLACED = /["']loc["']: ?[[(]["']body["']/;

/** A union of turns is reported once for each kind of turn. */
const LONGEST_LIST = 32_768;
const AT_CONTENT = String.raw`["']content["'](?:, ?["'][^"',]{1,80}["']){0,3}[\])], ?["']msg["']: ?["']`;
const SAYS = String.raw`\bcontent\b[^{}\n]{0,60}`;
const NULL_CONTENT = [
  new RegExp(
    String.raw`${AT_CONTENT}Input should be a valid (?:string|list)["'], ?["']input["']: ?(?:None|null)\b`,
    "i",
  ),
  new RegExp(String.raw`${AT_CONTENT}none is not an allowed value`, "i"),
  new RegExp(
    String.raw`${SAYS}(?:(?:not|n't|never) be|expected|must be|should be)[^{}\n]{0,40}\b(?:null|none|nil)\b`,
    "i",
  ),
  new RegExp(String.raw`${SAYS}must be a string`, "i"),
  /\b(?:null|None) is not of type ['"]string['"][^{}\n]{0,60}\bcontent\b/i,
];
const EMPTY_CONTENT = [
  new RegExp(String.raw`${AT_CONTENT}String should have at least 1 character`, "i"),
  new RegExp(String.raw`${SAYS}(?:(?:not|n't|never) be (?:an )?empty|non-?empty|at least (?:1|one) character)`, "i"),
];

/** The kinds of content that a refusal rejects in turns that consist of tool calls only. */
export function refusedContents(body: unknown): string[] {
  const text = refusalText(body, LONGEST_LIST);
  const says = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(text));
  return [...(says(NULL_CONTENT) ? ["null content"] : []), ...(says(EMPTY_CONTENT) ? ["empty content"] : [])];
}

/** The fields by which hosts control reasoning. */
export const CONTROLS: readonly string[] = [
  "reasoning_effort",
  "chat_template_kwargs",
  "chat_template_args",
  "reasoning",
  "thinking",
  "enable_thinking",
];

/**
 * Tuning parameters: without them the answer is of the same kind. Messages, tools, formats and limits are not among them,
 * because they determine what to answer and in which form.
 */
const TUNING_PARAMETERS: ReadonlySet<string> = new Set([
  ...SAMPLING_NAMES,
  "min_p",
  "repetition_penalty",
  "seed",
  "stop",
  "stop_sequences",
  "parallel_tool_calls",
  "verbosity",
  "stream_options",
  "metadata",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "service_tier",
  "context_management",
  "quality",
  "background",
  "output_format",
  "output_compression",
  "partial_images",
  "negative_prompt",
  "num_inference_steps",
  "guidance_scale",
  "input_fidelity",
  "moderation",
  "style",
  ...CONTROLS,
]);

/** A limit is not a tuning parameter, but some servers accept it under another name and say so. */
const RENAMED: Readonly<Record<string, string>> = { max_tokens: "max_completion_tokens" };

const SUBJECT = "(?:parameter|argument|field|name|property|key|value|option)s?";
const REFUSED =
  "(?:not (?:currently |yet )?(?:support|permitted|recogni[sz]ed)|unsupported|unknown|unrecogni[sz]ed|extra inputs are not permitted)";
/** `Unknown parameter: 'seed'`, `json: unknown field "seed"`: the field follows the words. Paths do not match: they name a nested field. */
const AFTER = new RegExp(
  `(?:unsupported|unknown|unrecogni[sz]ed|unexpected)(?: request| keyword| input)? ${SUBJECT}(?: supplied)?:? *["'\`]?(?:body\\.)?([a-z_]+)(?![\\w.[])`,
  "gi",
);
/** `seed is not supported`, `seed: Extra inputs are not permitted`, `'temperature' does not support 0.2`. */
const BEFORE = new RegExp(
  `(?<![\\w.\\]])(?:body\\.)?([a-z_]+)["'\`]?:? (?:${SUBJECT} )?(?:(?:is|are|was|does|do) )?(?:currently )?${REFUSED}`,
  "gi",
);
/** How pydantic reports an unknown field, in JSON or as Python prints it. */
const FORBIDDEN = /extra_forbidden|extra inputs are not permitted/i;
const PLACE = /["']loc["']: ?[[(](?:["']body["'], ?)?["'](\w+)["'],?[\])]/g;
/** Fireworks puts the field last. */
const FIELD = /extra inputs are not permitted, field: ["']?(?:body\.)?(\w+)(?![\w.[])/gi;

/** The tuning parameters that a refusal names. */
export function refusedParameters(body: unknown): string[] {
  const text = refusalText(body);
  const named = [AFTER, BEFORE, FIELD, ...(FORBIDDEN.test(text) ? [PLACE] : [])]
    .flatMap((pattern) => [...text.matchAll(pattern)].map(([, field]) => field!));
  const { code, param } = asObject(asObject(body).error);
  if (typeof param === "string" && /^(unsupported|unknown)_(parameter|value)$/.test(String(code))) named.push(param);
  return [...new Set(named)].filter((field) => TUNING_PARAMETERS.has(field) || isRenamed(field, text));
}

function isRenamed(field: string, text: string): boolean {
  return Object.hasOwn(RENAMED, field) && text.includes(RENAMED[field]!);
}

const NOT_KNOWN_HERE = String
  .raw`(not |un)(permitted|allowed|supported|known|expected|recogni[sz]ed)|forbidden|\bextra\b`;
/** Not the one on what was thought, where the vendor itself takes none. */
const HINT = String.raw`(?<!thinking\.)\b${CACHE_HINT}`;
const REFUSED_HINT = new RegExp(`${HINT}.{0,120}?(${NOT_KNOWN_HERE})|(${NOT_KNOWN_HERE}).{0,120}?${HINT}`, "i");

/** Whether a refusal says that the server does not support cache hints. A refusal of too many hints does not count. */
export function refusesCacheHints(body: unknown): boolean {
  return REFUSED_HINT.test(refusalText(body));
}

const UNSUPPORTED = NOT_KNOWN_HERE.replace("(not |un)", "(not (currently |yet )?|un)");
const REFUSED_SUFFIX = new RegExp(
  `\\bsuffix\\b.{0,80}?(${UNSUPPORTED})|(${UNSUPPORTED}).{0,80}?\\bsuffix\\b|does not support insert`,
  "i",
);

/** Whether a refusal says that the server, or this model, takes no text after a gap. Ollama calls that ability `insert`. */
export function refusesSuffix(body: unknown): boolean {
  return REFUSED_SUFFIX.test(refusalText(body));
}

const NAMES_FORM =
  /response[_ ]format|json[_ ](schema|object|mode)|structured[_ -]?outputs?|output_config(?!(?:[./]|["'\]]+\[|\s*->\s*|["'], ?["'])(?!format)[a-z])|output_format|text\.format/i;
/** An error in the schema itself is passed on to the client. */
const NAMES_SCHEMA = /invalid[^"]{0,20}schema|schema[^"]{0,40}\binvalid\b/i;
const NOT_TAKEN =
  /(\b|can)not (currently |yet )?(be )?(support|availab|allow|permit|implement|accept|enabl|combin)|n't (support|accept|allow)|(\b|_)unsupport|\bunavailable/i;
const NOT_KNOWN = /\b(unknown|unrecognized|unexpected|extra) (field|parameter|argument|key|input|name|property)/i;
/** The server supports other formats. */
const NOT_AMONG = /response_format["'][^{}]{0,80}input should be ["']\w+["'](?:,? or |, )/i;
const NOT_BOTH = /\bincompatible|can ?not .{0,60}(\btogether|at the same time)/i;

/** Whether an upstream refused because it does not support the requested answer format. */
export function refusesForm(body: unknown): boolean {
  const text = refusalText(body);
  const isRefused = [NOT_TAKEN, NOT_KNOWN, NOT_BOTH, NOT_AMONG].some((words) => words.test(text));
  return isRefused && NAMES_FORM.test(text) && !NAMES_SCHEMA.test(text);
}
