/**
 * Structured output for upstreams that do not support it: the schema goes into the prompt, and the answer is validated.
 * The instruction is at the end of the user's last turn, which every chat template accepts and which keeps the cached
 * prefix unchanged.
 */
import type { GenerateRequest, Message, OutputSchema, UserMessage } from "../canonical/generate.ts";
import type { Extra } from "../canonical/extra.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../canonical/json.ts";
import { type Budget, checkSchema, newBudget } from "./json_schema.ts";

/** The wires' names for the output format, for what a client sends beyond the canonical form. */
const FORM_FIELDS = ["response_format", "text.format", "output_config.format"];

/**
 * The request with the output schema in the prompt instead of a field. The same request always gives the same prompt.
 */
export function withFormInWords<T extends GenerateRequest>(request: T): T {
  const { outputSchema, extra, ...rest } = request;
  if (!outputSchema) return request;
  const kept = withoutForm(extra);
  const messages = atLastUserTurn(request.messages, wordsFor(outputSchema, (request.tools?.length ?? 0) > 0));
  return { ...rest, messages, ...(kept && { extra: kept }) } as T;
}

function withoutForm(extra: Extra | undefined): Extra | undefined {
  if (!extra || !FORM_FIELDS.some((field) => Object.hasOwn(extra.fields, field))) return extra;
  const fields = Object.entries(extra.fields).filter(([field]) => !FORM_FIELDS.includes(field));
  return { ...extra, fields: Object.fromEntries(fields) };
}

function wordsFor({ name, description, schema }: OutputSchema, hasTools: boolean): string {
  const when = hasTools ? "When you do not call a tool, answer" : "Answer";
  const what = schema ? "one JSON value that fits the JSON schema below" : "one JSON object";
  const lines = [`${when} with ${what}, and with nothing else: no text before or after it, and no code fence.`];
  const about = [name, description].filter((one) => one !== undefined).join(": ");
  if (about !== "") lines.push(`The answer is: ${about}`);
  if (schema) lines.push(JSON.stringify(schema));
  return lines.join("\n");
}

function atLastUserTurn(messages: readonly Message[], words: string): Message[] {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = messages[at];
  const turn: UserMessage = last?.role === "user" ? last : { role: "user", content: [] };
  const instructed = { ...turn, content: [...turn.content] };
  const end = instructed.content.at(-1);
  // A single text stays a single text, because some templates accept nothing else.
  if (end?.type === "text" && !end.extra) instructed.content.splice(-1, 1, { ...end, text: `${end.text}\n\n${words}` });
  else instructed.content.push({ type: "text", text: words });
  return at < 0 ? [...messages, instructed] : messages.with(at, instructed);
}

const LONGEST_REPEATED = 8_000;

/** The turns that ask a model to correct an invalid answer. */
export function correction(answer: string, problem: string): Message[] {
  const repeated = answer.trim() === "" ? "(nothing)" : answer.slice(0, LONGEST_REPEATED);
  const words = `That is not the answer that was asked for: ${problem}. Answer again, with the JSON alone.`;
  return [
    { role: "assistant", content: [{ type: "text", text: repeated }] },
    { role: "user", content: [{ type: "text", text: words }] },
  ];
}

/** The valid JSON text as the model wrote it, or what is wrong with the answer. */
export type FormedAnswer = { json: string; unread: string[] } | { problem: string };

/** Extracts the JSON from the text around it if exactly one candidate is valid. */
export function readForm(answer: string, { schema }: OutputSchema): FormedAnswer {
  const text = answer.trim();
  const whole = parse(text) ?? parse(unfenced(text));
  const budget = newBudget();
  if (whole) return judge(whole, schema, budget);
  const found = valuesIn(text).map((one) => judge(one, schema, budget));
  const fitting = found.filter((one) => "json" in one);
  // With several candidates, one must be certainly valid.
  if (found.length > 1 && fitting.some(({ unread }) => unread.includes("all"))) return { problem: SEVERAL };
  const [first] = fitting;
  if (first && fitting.every(({ json }) => json === first.json)) return first;
  if (first) return { problem: SEVERAL };
  return found.length === 1 ? found[0]! : { problem: text === "" ? "it is empty" : "it is not JSON" };
}

const SEVERAL = "it holds several JSON values";

interface Parsed {
  json: string;
  value: JsonValue;
}

function parse(json: string): Parsed | undefined {
  const value = parseJson(json);
  return value === undefined ? undefined : { json, value };
}

const FENCE = /^(`{3,}|~{3,}(?!~))[^\n`]*\n([^]*)\n[ \t]*\1$/;

function unfenced(text: string): string {
  return (FENCE.exec(text)?.[2] ?? "").trim();
}

function judge({ json, value }: Parsed, schema: JsonObject | undefined, budget: Budget): FormedAnswer {
  if (!schema) return isJsonObject(value) ? { json, unread: [] } : { problem: "it is not a JSON object" };
  const { problems, unread } = checkSchema(value, schema, budget);
  return problems.length > 0 ? { problem: problems.join("; ") } : { json, unread };
}

/** A text with more candidates is not an answer, and trying them all would take too long. */
const MOST_PIECES = 10_000;

/**
 * All top-level objects and arrays in a text. If one is incomplete or not JSON, nothing inside it is used, because part
 * of an answer is not the answer.
 */
function valuesIn(text: string): Parsed[] {
  const values: Parsed[] = [];
  let pieces = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "{" && text[at] !== "[") continue;
    const end = endOf(text, at);
    if (end === undefined) break;
    if (++pieces > MOST_PIECES) return [];
    const parsed = parse(text.slice(at, end));
    if (parsed) values.push(parsed);
    at = end - 1;
  }
  return values;
}

/** The end of the object or array that begins at `start`. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === "\\") at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return at + 1;
  }
  return undefined;
}
