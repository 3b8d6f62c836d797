/** Which fields of a request an upstream's refusal is about, on every wire: it may answer without them. */
import { isJsonObject } from "../src/canonical/json.ts";

/**
 * Knobs, without which the answer is the same in kind. What says what is to be answered, and in which form, is not among them:
 * messages, tools, formats, limits.
 */
const KNOBS: ReadonlySet<string> = new Set([
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "presence_penalty",
  "frequency_penalty",
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
  // How much to think.
  "reasoning_effort",
  "reasoning",
  "thinking",
  "enable_thinking",
  "chat_template_kwargs",
  "chat_template_args",
]);

/** A limit is no knob, but some servers take it under another name, and say so. */
const RENAMED: Readonly<Record<string, string>> = { max_tokens: "max_completion_tokens" };

const SUBJECT = "(?:parameter|argument|field|name|property|key|value|option)s?";
const REFUSED =
  "(?:not (?:currently |yet )?(?:support|permitted|recogni[sz]ed)|unsupported|unknown|unrecogni[sz]ed|extra inputs are not permitted)";
/** `Unknown parameter: 'seed'`, `json: unknown field "seed"`: the field right after the words. A path is a field inside another. */
const AFTER = new RegExp(
  `(?:unsupported|unknown|unrecogni[sz]ed|unexpected)(?: request| keyword| input)? ${SUBJECT}(?: supplied)?:? *["'\`]?(?:body\\.)?([a-z_]+)(?![\\w.[])`,
  "gi",
);
/** `seed is not supported`, `seed: Extra inputs are not permitted`, `'temperature' does not support 0.2`. */
const BEFORE = new RegExp(
  `(?<![\\w.\\]])(?:body\\.)?([a-z_]+)["'\`]?:? (?:${SUBJECT} )?(?:(?:is|are|was|does|do) )?(?:currently )?${REFUSED}`,
  "gi",
);
/** How pydantic names a field that it does not know, in JSON or as Python prints it. */
const FORBIDDEN = /extra_forbidden|extra inputs are not permitted/i;
const PLACE = /["']loc["']: ?[[(](?:["']body["'], ?)?["'](\w+)["'],?[\])]/g;
/** Fireworks says it the other way round. */
const FIELD = /extra inputs are not permitted, field: ["']?(?:body\.)?(\w+)(?![\w.[])/gi;

/** What is read of a refusal: some servers repeat the whole request in it. */
const LONGEST = 4_096;

export function refusedKnobs(body: unknown): string[] {
  if (body instanceof Uint8Array) return [];
  const text = (typeof body === "string" ? body : unescaped(JSON.stringify(body) ?? "")).slice(0, LONGEST);
  const named = [AFTER, BEFORE, FIELD, ...(FORBIDDEN.test(text) ? [PLACE] : [])]
    .flatMap((pattern) => [...text.matchAll(pattern)].map(([, field]) => field!));
  const { code, param } = isJsonObject(body) && isJsonObject(body.error) ? body.error : {};
  if (typeof param === "string" && /^(unsupported|unknown)_(parameter|value)$/.test(String(code))) named.push(param);
  return [...new Set(named)].filter((field) => KNOBS.has(field) || isRenamed(field, text));
}

function isRenamed(field: string, text: string): boolean {
  return Object.hasOwn(RENAMED, field) && text.includes(RENAMED[field]!);
}

/** A message that quotes, as it was before it stood in JSON. */
function unescaped(text: string): string {
  return text.replaceAll('\\"', '"');
}
