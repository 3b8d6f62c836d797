/**
 * The form of an answer, for upstreams that know none: it is asked for in words, and what comes back is checked. The words
 * stand at the end of the user's last turn, which every chat template takes and which leaves the prefix before it as it is for
 * the upstream's cache.
 */
import type { GenerateRequest, Message, OutputSchema, UserMessage } from "../canonical/generate.ts";
import type { Extra } from "../canonical/extra.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../canonical/json.ts";
import { type Budget, checkSchema, newBudget } from "./json_schema.ts";

/** What wires call the form of the answer, where a client says more of it than the canonical form models. */
const FORM_FIELDS = ["response_format", "text.format", "output_config.format"];

/** The request with the form of its answer in words, and in no field. The same request gives the same words. */
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
  // One text is sent as one: some templates take nothing else.
  if (end?.type === "text" && !end.extra) instructed.content.splice(-1, 1, { ...end, text: `${end.text}\n\n${words}` });
  else instructed.content.push({ type: "text", text: words });
  return at < 0 ? [...messages, instructed] : messages.with(at, instructed);
}

const LONGEST_REPEATED = 8_000;

/** The turns after which a model answers again, whose answer was not what it was to be. */
export function correction(answer: string, problem: string): Message[] {
  const repeated = answer.trim() === "" ? "(nothing)" : answer.slice(0, LONGEST_REPEATED);
  const words = `That is not the answer that was asked for: ${problem}. Answer again, with the JSON alone.`;
  return [
    { role: "assistant", content: [{ type: "text", text: repeated }] },
    { role: "user", content: [{ type: "text", text: words }] },
  ];
}

/** An answer in its form: the JSON text as the model wrote it; or what is wrong with it. */
export type FormedAnswer = { json: string; unread: string[] } | { problem: string };

/** Takes the JSON out of what stands around it, where it is certain which one is meant: the only one that fits. */
export function readForm(answer: string, { schema }: OutputSchema): FormedAnswer {
  const text = answer.trim();
  const whole = parse(text) ?? parse(unfenced(text));
  const budget = newBudget();
  if (whole) return judge(whole, schema, budget);
  const found = valuesIn(text).map((one) => judge(one, schema, budget));
  const fitting = found.filter((one) => "json" in one);
  // Of several it takes one that certainly fits.
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

const FENCE = /^(`{3,}|~{3,})[^\n`]*\n([^]*)\n[ \t]*\1$/;

function unfenced(text: string): string {
  return (FENCE.exec(text)?.[2] ?? "").trim();
}

function judge({ json, value }: Parsed, schema: JsonObject | undefined, budget: Budget): FormedAnswer {
  if (!schema) return isJsonObject(value) ? { json, unread: [] } : { problem: "it is not a JSON object" };
  const { problems, unread } = checkSchema(value, schema, budget);
  return problems.length > 0 ? { problem: problems.join("; ") } : { json, unread };
}

/** A text with more pieces that begin like JSON is no answer, and to try them all takes long. */
const MOST_PIECES = 10_000;

/**
 * Every object and list in a text that is inside no other one. Of what begins like one and never ends, and of what is no JSON,
 * nothing is taken: a part of an answer is not the answer.
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

/** Where the object or list ends that begins at `start`. */
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
