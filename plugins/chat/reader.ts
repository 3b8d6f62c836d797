/** Reads what an upstream says of one answer, whole or in increments, and turns it into canonical events. */
import { type Extra, extraOf, inside } from "../../src/canonical/extra.ts";
import { completeUsage, type Usage } from "../../src/canonical/usage.ts";
import type { Annotation, Finish, GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { isJsonObject, isJsonText, type JsonObject, toJsonText, withoutNulls } from "../../src/canonical/json.ts";
import { PartWriter } from "../../src/transforms/part_writer.ts";
import { weighText } from "../../src/canonical/estimate.ts";
import type { Work } from "../../src/util/work.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysFailure } from "../shared/endings.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { parseFinish } from "./finish.ts";
import { OwnReasoning } from "./own_reasoning.ts";
import { type TextEvent, type TextForms, textFormsFor } from "./text_forms.ts";
import { parseUsage, unknownUsage } from "./usage.ts";
import {
  ANSWER_KEYS,
  answerSchema,
  type ChatAnswer,
  type ChatChoice,
  type ChatDelta,
  CHOICE_KEYS,
  DELTA_KEYS,
  type ToolCallFragment,
  WIRE,
} from "./wire.ts";

/** An answer or a chunk, checked. An `error` in it is thrown, whatever the HTTP status was. */
export function parseAnswer(body: unknown): ChatAnswer {
  if (isJsonObject(body) && body.error) throw upstreamStreamError(body);
  const answer = accept(answerSchema, body);
  if (!answer) throw notAnAnswer();
  return answer;
}

export function notAnAnswer(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not a chat completion");
}

interface OpenCall {
  key: string;
  id: string | undefined;
  name: string | undefined;
  args: string;
}

/** One answer as it comes in. `read` takes whole answers and chunks alike; `end` says how it ended. */
export class AnswerReader {
  readonly #input: GenerateRequest;
  readonly #context: AnswerContext;
  readonly #writer: PartWriter;
  /** Only where the target has its texts read. */
  readonly #forms: TextForms | undefined;
  /** What the text of the next increment holds, where that was read ahead. */
  #ahead: readonly TextEvent[] | undefined;
  /** Only for clients of other wires: those of this one get it as it is. */
  readonly #own: OwnReasoning | undefined;
  /** By the number and by the id that the upstream gives them, the latest of each. */
  readonly #numbered = new Map<number, OpenCall>();
  readonly #named = new Map<string, OpenCall>();
  #latestCall: OpenCall | undefined;
  /** By their place in the latest increment that told of several. */
  readonly #placed: OpenCall[] = [];
  #callCount = 0;
  /** What came as `function_call`, which counts for nothing once there are `tool_calls`: only the end tells. */
  #legacy: ToolCallFragment[] | undefined = [];
  #textCalls = 0;
  #started = false;
  #empty = true;
  /** Of all that was said, for where the upstream does not count: the text itself would be kept for as long as it goes on. */
  #outputWeight = 0;
  #namedReasoning = false;
  #finish: Finish | undefined;
  #usage: ChatAnswer["usage"];
  #fields: JsonObject = {};
  #choiceFields: JsonObject = {};
  #messageFields: JsonObject = {};

  constructor(input: GenerateRequest, target: Target, context: AnswerContext) {
    this.#input = input;
    this.#context = context;
    this.#writer = new PartWriter(input);
    this.#forms = textFormsFor(input, target);
    if (context.clientWire !== WIRE) this.#own = new OwnReasoning();
  }

  read(answer: ChatAnswer): GenerateEvent[] {
    const events: GenerateEvent[] = [];
    const extra = extraOf(WIRE, answer, ANSWER_KEYS);
    if (extra) Object.assign(this.#fields, extra.fields);
    if (!this.#started) {
      this.#started = true;
      const model = answer.model ?? this.#input.model;
      const told = extra && extraFrom(extra.fields);
      events.push({ type: "start", model, inputTokens: this.#context.inputTokens, ...(told && { extra: told }) });
    }
    // Counts come with the last content, after it, or both; the later ones know more (cached tokens).
    const usage = answer.usage ?? answer.choices?.[0]?.usage;
    if (usage) this.#usage = { ...this.#usage, ...withoutNulls(usage) };
    for (const choice of answer.choices ?? []) {
      for (const event of this.#readChoice(choice)) events.push(event);
    }
    return this.#own ? this.#own.carry(events) : events;
  }

  /** The same of an answer whose text may be long, which is looked into in slices. */
  *readLong(answer: ChatAnswer): Work<GenerateEvent[]> {
    const [choice] = answer.choices ?? [];
    const delta = choice?.delta ?? choice?.message;
    if (this.#forms && delta) this.#ahead = yield* this.#readAhead(this.#forms, delta);
    return this.read(answer);
  }

  /**
   * `complete`: the upstream said that it was done. Without that and without a finish reason the connection was cut, which
   * is a failure, never an ending.
   */
  end(complete: boolean): GenerateEvent[] {
    const last = this.#forms ? this.#write(this.#forms.end()) : [];
    for (const fragment of this.#legacy ?? []) last.push(...this.#readCall(fragment));
    if (last.length > 0) this.#empty = false;
    const finish = this.#finish ?? (complete && !this.#empty ? { reason: "stop" as const } : undefined);
    if (!finish) throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
    const events = [...last, ...this.#writer.finish(finish, this.#countUsage(), this.#finishExtra())];
    return this.#own ? this.#own.carry(events) : events;
  }

  #readChoice(choice: ChatChoice): GenerateEvent[] {
    const fields = extraOf(WIRE, choice, CHOICE_KEYS)?.fields;
    for (const [key, value] of Object.entries(fields ?? {})) if (value !== null) this.#choiceFields[key] = value;
    const delta = choice.delta ?? choice.message;
    const events = delta ? this.#readDelta(delta) : [];
    if (choice.finish_reason) {
      if (saysFailure(choice.finish_reason)) throw upstreamStreamError({ error: choice.error });
      // vLLM also names the model's own end marks there, which no client asked for.
      const matched = choice.stop_reason ?? choice.provider_specific_fields?.stop_reason;
      const asked = this.#input.stopSequences?.find((sequence) => sequence === matched);
      this.#finish = parseFinish(choice.finish_reason, asked);
      if (this.#finish.reason === "other") this.#context.note(`replaced the ending ${choice.finish_reason}`);
    }
    return events;
  }

  #readDelta(delta: ChatDelta): GenerateEvent[] {
    const unknown = extraOf(WIRE, delta, DELTA_KEYS)?.fields;
    if (unknown) mergeIncrement(this.#messageFields, unknown);
    if (Array.isArray(delta.reasoning_details)) this.#own?.add(delta.reasoning_details);
    const { text, reasoning } = this.#textsIn(delta);
    if (text || reasoning || delta.refusal) this.#outputWeight += weighText(reasoning + text + (delta.refusal ?? ""));
    const events = this.#writer.reasoning(reasoning);
    events.push(
      ...(this.#forms ? this.#readForms(this.#forms, text, delta, reasoning !== "") : this.#writer.text(text)),
    );
    if (delta.annotations?.length) this.#writer.attach({ annotations: delta.annotations.map(parseAnnotation) });
    events.push(...this.#writer.refusal(delta.refusal ?? ""));
    const isOne = delta.tool_calls?.length === 1;
    for (const [place, fragment] of delta.tool_calls?.entries() ?? []) {
      events.push(...this.#readCall(fragment, isOne ? undefined : place));
    }
    // Some servers tell a call in its legacy form too (llama-cpp-python, where the tool was named).
    if (delta.tool_calls?.some((fragment) => !saysNothing(fragment))) this.#legacy = undefined;
    else if (delta.function_call) this.#legacy?.push({ index: 0, function: delta.function_call });
    if (events.length > 0) this.#empty = false;
    return events;
  }

  #textsIn(delta: ChatDelta): { text: string; reasoning: string } {
    const { thinking, text } = splitContent(delta.content);
    const named = delta.reasoning_content || delta.reasoning || delta.reasoning_text || "";
    if (named) this.#namedReasoning = true;
    return { text, reasoning: thinking + (this.#namedReasoning ? named : detailsText(delta)) };
  }

  /** What the upstream tells itself goes before what its text may hold. */
  #readForms(forms: TextForms, text: string, delta: ChatDelta, hasReasoning: boolean): GenerateEvent[] {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    return this.#write(ahead ?? [...this.#leaveForms(forms, delta, hasReasoning), ...forms.read(text)]);
  }

  *#readAhead(forms: TextForms, delta: ChatDelta): Work<TextEvent[]> {
    const { text, reasoning } = this.#textsIn(delta);
    const left = this.#leaveForms(forms, delta, reasoning !== "");
    const read = yield* forms.readLong(text);
    return [...left, ...read];
  }

  #leaveForms(forms: TextForms, delta: ChatDelta, hasReasoning: boolean): TextEvent[] {
    if (hasReasoning) forms.leaveReasoning();
    const isCalled = delta.tool_calls?.length || delta.function_call;
    return isCalled ? forms.leaveCalls() : [];
  }

  #write(read: readonly TextEvent[]): GenerateEvent[] {
    return read.flatMap((event) => {
      if (event.type !== "call") return this.#writer[event.type](event.text);
      const key = `text-${this.#textCalls++}`;
      return [...this.#writer.toolCall(key, event), ...this.#writer.endToolCall(key)];
    });
  }

  #readCall(fragment: ToolCallFragment, place?: number): GenerateEvent[] {
    if (saysNothing(fragment)) return [];
    this.#empty = false;
    const { name, arguments: args } = fragment.function ?? {};
    const added = fragment.custom?.input ?? (args ? toJsonText(args) : "");
    const told = name || fragment.custom?.name || undefined;
    const call = this.#callOf(fragment, told, added, place);
    if (place !== undefined) this.#placed[place] = call;
    if (fragment.id && !call.id) {
      call.id = fragment.id;
      this.#named.set(call.id, call);
    }
    call.name ??= told;
    call.args += added;
    this.#outputWeight += weighText(added);
    const { id: _id, index: _index, ...rest } = fragment;
    const inner = extraOf(WIRE, fragment.function ?? {}, new Set(["name", "arguments"]));
    const outer = extraOf(WIRE, rest, new Set(["type", "function", "custom"]));
    const extra = (inner || outer) &&
      { wire: WIRE, fields: { ...outer?.fields, ...inside("function", inner) } };
    const kind = fragment.type === "custom" ? "custom" as const : "function" as const;
    return this.#writer.toolCall(call.key, { kind, id: call.id, name: told, input: added, ...(extra && { extra }) });
  }

  /**
   * The call that a fragment belongs to. Upstreams leave `index` out, or give every call 0, or a new id with every
   * fragment: a name, or arguments after complete ones, begin a call where the numbers do not tell. Of several fragments that
   * say nothing of themselves each goes on with the call that was told in its place.
   */
  #callOf(
    { index, id }: ToolCallFragment,
    name: string | undefined,
    added: string,
    place: number | undefined,
  ): OpenCall {
    const placed = place !== undefined && !id ? this.#placed[place] : undefined;
    const known = typeof index === "number"
      ? this.#numbered.get(index)
      : (id ? this.#named.get(id) : undefined) ?? (name ? undefined : placed ?? this.#latestCall);
    if (known && !beginsAnother(known, id ?? undefined, name, added)) return known;
    const call: OpenCall = { key: String(this.#callCount++), id: undefined, name: undefined, args: "" };
    if (typeof index === "number") this.#numbered.set(index, call);
    this.#latestCall = call;
    return call;
  }

  #countUsage(): Usage {
    return completeUsage(this.#usage ? parseUsage(this.#usage) : {}, this.#context, this.#outputWeight);
  }

  #finishExtra(): Extra | undefined {
    const usage = this.#usage && unknownUsage(this.#usage);
    return extraFrom({
      ...this.#fields,
      ...(Object.keys(this.#choiceFields).length > 0 && { choice: this.#choiceFields }),
      ...(Object.keys(this.#messageFields).length > 0 && { message: this.#messageFields }),
      ...(usage && { usage }),
    });
  }
}

/** What servers tell of themselves, or a second time: nothing of the answer is lost with it. */
const ABOUT_SERVER: ReadonlySet<string> = new Set([
  "system_fingerprint",
  "service_tier",
  "timings",
  "provider",
  "kv_transfer_params",
  "native_finish_reason",
  "stop_reason",
  "token_ids",
  "reasoning_details",
  "usage",
]);

/** What holds more of an answer; in the last of them litellm keeps what its own schema does not have. */
const HOLDERS: ReadonlySet<string> = new Set(["choice", "message", "provider_specific_fields"]);

/** What no other wire has of an answer, apart from what none of them needs. */
function extraFrom(told: JsonObject): Extra | undefined {
  const isHint = ([key, value]: [string, unknown]): boolean =>
    ABOUT_SERVER.has(key) || value === null ||
    HOLDERS.has(key) && isJsonObject(value) && Object.entries(value).every(isHint);
  const all = Object.entries(told);
  const hints = all.filter(isHint);
  if (all.length === 0) return undefined;
  return {
    wire: WIRE,
    fields: Object.fromEntries(all.filter((one) => !isHint(one))),
    ...(hints.length > 0 && { hints: Object.fromEntries(hints) }),
  };
}

/** Some hosts have an empty call where there is none (Snowflake), or in the last chunk of every stream. */
function saysNothing(fragment: ToolCallFragment): boolean {
  const { id, function: called, custom } = fragment;
  if (id || called?.name || called?.arguments || custom?.name || custom?.input) return false;
  return extraOf(WIRE, fragment, FRAGMENT_KEYS) === undefined;
}

const FRAGMENT_KEYS: ReadonlySet<string> = new Set(["index", "id", "type", "function", "custom"]);

function beginsAnother(call: OpenCall, id: string | undefined, name: string | undefined, added: string): boolean {
  if (!name) return false;
  if (id && call.id && id !== call.id) return true;
  return call.args !== "" && isJsonText(call.args) && (name !== call.name || added.trim() !== "");
}

/** Hosts spell reasoning in several ways, some in two at once with the same text: the details count where no name does. */
function detailsText(delta: ChatDelta): string {
  const details = delta.reasoning_details;
  if (!Array.isArray(details)) return "";
  return details.map((detail) => isJsonObject(detail) ? detail.text ?? detail.summary : "")
    .filter((text) => typeof text === "string").join("");
}

function splitContent(content: ChatDelta["content"]): { thinking: string; text: string } {
  if (typeof content === "string" || !content) return { thinking: "", text: content ?? "" };
  const textsIn = (parts: unknown): string =>
    Array.isArray(parts)
      ? parts.map((part) => isJsonObject(part) && typeof part.text === "string" ? part.text : "").join("")
      : "";
  return {
    thinking: content.map((part) => part.type === "thinking" ? textsIn(part.thinking) : "").join(""),
    text: textsIn(content.filter((part) => part.type === "text")),
  };
}

function parseAnnotation(annotation: object): Annotation {
  const cited = "url_citation" in annotation && isJsonObject(annotation.url_citation) ? annotation.url_citation : {};
  const { url, title, start_index, end_index } = cited;
  return {
    type: "url-citation",
    url: typeof url === "string" ? url : "",
    ...(typeof title === "string" && title !== "" && { title }),
    // An empty place is none.
    ...(typeof end_index === "number" && end_index > 0 && {
      ...(typeof start_index === "number" && { start: start_index }),
      end: end_index,
    }),
  };
}

/** Adds an increment of fields that we do not know: texts and lists grow, anything else is replaced. */
function mergeIncrement(into: JsonObject, fields: JsonObject): void {
  for (const [key, value] of Object.entries(fields)) {
    const before = into[key];
    if (value === null) continue;
    if (typeof before === "string" && typeof value === "string") into[key] = before + value;
    else if (Array.isArray(before) && Array.isArray(value)) { for (const one of value) before.push(one); }
    else into[key] = Array.isArray(value) ? [...value] : value;
  }
}
