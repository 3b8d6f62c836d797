/** Parses the turns of a conversation: those of the user, those of the model, and the results of functions. */
import { extraField, extraOf, inside } from "../../src/canonical/extra.ts";
import type {
  FilePart,
  InputPart,
  Message,
  OpaquePart,
  OutputPart,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { type JsonObject, type JsonValue, present, toJsonText } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { CallPairs } from "../shared/call_pairs.ts";
import { parseFile, parseInline } from "./parse_media.ts";
import { parseSignature } from "./signature.ts";
import {
  CALL_KEYS,
  CONTENT_KEYS,
  type GeminiContent,
  type GeminiPart,
  type GeminiResult,
  PART_KEYS,
  RESULT_KEYS,
  WIRE,
} from "./wire.ts";

/** Reads the turns in order, because a result without a call id belongs to the first open call. */
export class Conversation {
  readonly #pairs = new CallPairs();
  readonly #messages: Message[] = [];
  /** The model's last turn, if no user turn has followed it. */
  #model: ModelTurn | undefined;

  parse(contents: readonly GeminiContent[]): Message[] {
    for (const [index, content] of contents.entries()) {
      if (content.role === "model") this.#readModel(content, index);
      else this.#readUser(content, index);
    }
    return this.#messages;
  }

  /** Merges successive turns of the model, because libraries keep each piece of a streamed answer as a turn. */
  #readModel(content: GeminiContent, index: number): void {
    const extra = extraField(WIRE, content, CONTENT_KEYS);
    if (!this.#model || extra.extra) {
      this.#model = new ModelTurn(this.#pairs);
      this.#messages.push({ role: "assistant", content: this.#model.content, ...extra });
    }
    for (const [at, part] of (content.parts ?? []).entries()) this.#model.read(part, `contents[${index}].parts[${at}]`);
  }

  /** Puts results first, because they belong to the calls before them. */
  #readUser(content: GeminiContent, index: number): void {
    this.#model = undefined;
    const results: ToolResultPart[] = [];
    const said: InputPart[] = [];
    for (const [at, part] of (content.parts ?? []).entries()) {
      const place = `contents[${index}].parts[${at}]`;
      checkKind(part, place);
      if (part.functionResponse) results.push(this.#result(part, part.functionResponse, place));
      else said.push(parseInputPart(part, place));
    }
    this.#pairs.endTurn();
    if (results.length > 0) this.#messages.push({ role: "tool", content: results });
    const extra = extraField(WIRE, content, CONTENT_KEYS);
    if (said.length > 0 || results.length === 0) this.#messages.push({ role: "user", content: said, ...extra });
  }

  #result(part: GeminiPart, result: GeminiResult, place: string): ToolResultPart {
    const { id, name, response, parts } = result;
    const { text, isError } = wordsOf(response ?? {});
    const files = (parts ?? []).map((one, at): InputPart =>
      parseInputPart(one, `${place}.functionResponse.parts[${at}]`)
    );
    return {
      type: "tool-result",
      id: this.#pairs.answered(id, name),
      content: [...text === "" && files.length > 0 ? [] : [{ type: "text" as const, text }], ...files],
      ...(isError && { isError }),
      ...withExtra(extraOf(WIRE, part, PART_KEYS)?.fields, "functionResponse", extraOf(WIRE, result, RESULT_KEYS)),
    };
  }
}

/** The extra fields beside a part's own, and those inside it. */
function withExtra(outer: JsonObject | undefined, key: string, inner: ReturnType<typeof extraOf>) {
  const fields = { ...outer, ...inside(key, inner) };
  return Object.keys(fields).length > 0 ? { extra: { wire: WIRE, fields } } : {};
}

/** The keys under which a function's result is wrapped if it is not an object itself. */
const ANSWERS = ["output", "result"];

/** The result of a function as text. A failed function has the key `error`. */
function wordsOf(response: JsonObject): { text: string; isError: boolean } {
  const [[key = "", value] = [], ...others] = Object.entries(response);
  if (value === undefined || others.length > 0) return { text: JSON.stringify(response), isError: false };
  const isError = key === "error";
  if (!isError && !ANSWERS.includes(key)) return { text: JSON.stringify(response), isError };
  return { text: toText(value), isError };
}

function toText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const KINDS = ["text", "inlineData", "fileData", "functionCall", "functionResponse"] as const;

/** Refuses a part of several kinds, because all but one of them would be lost. */
function checkKind(part: GeminiPart, place: string): void {
  const kinds = kindsOf(part);
  if (kinds.length < 2) return;
  const message = `Invalid value at "${place}": a part has one of ${kinds.join(" and ")}, not both`;
  throw new GatewayError("invalid_request", message, { param: place });
}

function kindsOf(part: GeminiPart): string[] {
  return KINDS.filter((kind) => part[kind] !== undefined && part[kind] !== null);
}

/** A part of a user turn or of the instructions. `place` names it in an error. */
export function parseInputPart(part: GeminiPart, place: string): InputPart {
  // A thought in a user turn is not reasoning, so the flag is kept as an extra field.
  const rest = { ...extraOf(WIRE, part, PART_KEYS)?.fields, ...present("thought", part.thought || undefined) };
  const extra = Object.keys(rest).length > 0 && { extra: { wire: WIRE, fields: rest } };
  if (typeof part.text === "string") return { type: "text", text: part.text, ...extra };
  return parseMedia(part, rest, place) ?? opaque(part);
}

function parseMedia({ inlineData, fileData }: GeminiPart, rest: JsonObject, place: string): FilePart | undefined {
  if (inlineData) return parseInline(inlineData, rest);
  return fileData ? parseFile(fileData, rest, `${place}.fileData`) : undefined;
}

/** A turn of the model. A thought and its signature may be in parts that are not adjacent. */
class ModelTurn {
  readonly content: OutputPart[] = [];
  readonly #pairs: CallPairs;
  /** The latest thought without a signature, and the first part that the next signature belongs to. */
  #thought: ReasoningPart | undefined;
  #from = 0;

  constructor(pairs: CallPairs) {
    this.#pairs = pairs;
  }

  read(part: GeminiPart, place: string): void {
    checkKind(part, place);
    const opaque = parseSignature(part.thoughtSignature);
    if (part.thought && kindsOf(part).every((kind) => kind === "text")) this.#think(part);
    else this.#say(part, place);
    if (!opaque) return;
    if (this.#thought) this.#thought.opaque = opaque;
    else this.content.splice(this.#from, 0, { type: "reasoning", text: "", opaque });
    this.#thought = undefined;
    this.#from = this.content.length;
  }

  #think({ text }: GeminiPart): void {
    const last = this.content.at(-1);
    if (last && last === this.#thought) this.#thought.text += text ?? "";
    else this.content.push(this.#thought = { type: "reasoning", text: text ?? "" });
  }

  #say(part: GeminiPart, place: string): void {
    const rest = extraOf(WIRE, part, PART_KEYS);
    const { text, functionCall } = part;
    if (typeof text === "string") {
      const last = this.content.at(-1);
      if (last?.type === "text" && !last.extra && !rest) last.text += text;
      else if (text !== "" || rest) this.content.push({ type: "text", text, ...(rest && { extra: rest }) });
    } else if (functionCall) this.content.push(this.#call(functionCall, rest?.fields));
    else this.content.push(parseMedia(part, rest?.fields ?? {}, place) ?? opaque(part));
  }

  #call(called: NonNullable<GeminiPart["functionCall"]>, outer: JsonObject | undefined): ToolCallPart {
    const { id, name, args } = called;
    return {
      type: "tool-call",
      kind: "function",
      id: this.#pairs.add(id, name),
      name,
      input: toJsonText(args),
      ...withExtra(outer, "functionCall", extraOf(WIRE, called, CALL_KEYS)),
    };
  }
}

/** Code that the vendor's own server ran, and other parts that only that server knows. */
function opaque(part: GeminiPart): OpaquePart {
  const { thoughtSignature: _, ...fields } = part as JsonObject;
  const [type = "empty"] = Object.keys(fields);
  const standIn = inWords(fields);
  return { type: "opaque", ...(standIn && { standIn }), extra: { wire: WIRE, fields: { ...fields, type } } };
}

function inWords({ executableCode: code, codeExecutionResult: result }: JsonObject): string | undefined {
  const wordsIn = (value: JsonValue | undefined, name: string) =>
    String((value as JsonObject | undefined)?.[name] ?? "");
  if (code) return `[Code that ran on the server]\n${wordsIn(code, "code")}`;
  return result ? `[What the code brought]\n${wordsIn(result, "output")}` : undefined;
}
