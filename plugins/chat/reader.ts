/** Reads what an upstream says of one answer, whole or in increments, and turns it into canonical events. */
import { weighText } from "../../src/canonical/estimate.ts";
import type { Finish, GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { addPresent } from "../../src/canonical/json.ts";
import { completeUsage, type Usage } from "../../src/canonical/usage.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { PartWriter } from "../../src/transforms/part_writer.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { saysFailure } from "../shared/finish_reasons.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { withInput } from "./alike_chunks.ts";
import { AnswerFields } from "./answer_fields.ts";
import { DeltaTexts, parseAnnotation } from "./delta_texts.ts";
import { parseFinish } from "./finish.ts";
import { OpenCalls, saysNothing } from "./open_calls.ts";
import { OpaqueReasoningFields } from "./opaque_reasoning.ts";
import { textFormsFor } from "../shared/text_forms/answer_forms.ts";
import type { TextEvent, TextForms } from "../shared/text_forms/text_forms.ts";
import { parseUsage } from "./usage.ts";
import { type ChatAnswer, type ChatChoice, type ChatDelta, type ToolCallFragment, WIRE } from "./wire.ts";

const REASONING_KEYS = ["reasoning_content", "reasoning", "reasoning_text"] as const;

/** Not by a spread: one chunk may make very many. */
function addAll(events: GenerateEvent[], more: readonly GenerateEvent[]): void {
  for (const event of more) events.push(event);
}

/** One answer as it comes in. `read` takes whole answers and chunks alike; `end` says how it ended. */
export class AnswerReader {
  readonly #input: GenerateRequest;
  readonly #context: AnswerContext;
  readonly #writer: PartWriter;
  /** Absent if the target leaves texts as they are. */
  #forms: TextForms | undefined;
  /** The events that the text of the next increment holds, where that was read ahead. */
  #ahead: readonly TextEvent[] | undefined;
  /** Only for clients of other wires: those of this one get it as it is. */
  readonly #own: OpaqueReasoningFields | undefined;
  /** The fragments that came as `function_call`. They count for nothing once there are `tool_calls`: only the end tells. */
  #legacy: ToolCallFragment[] | undefined = [];
  readonly #calls = new OpenCalls();
  readonly #texts = new DeltaTexts();
  readonly #fields = new AnswerFields();
  #textCalls = 0;
  #started = false;
  #empty = true;
  /** The weight of the output, in case the upstream does not count it. The text itself would stay in memory until the end. */
  #outputWeight = 0;
  #finish: Finish | undefined;
  #usage: ChatAnswer["usage"];
  /** Whether each kind of content has come in increments. */
  readonly #brought = { text: false, reasoning: false, details: false, refusal: false, input: false };

  constructor(input: GenerateRequest, target: Target, context: AnswerContext) {
    this.#input = input;
    this.#context = context;
    this.#writer = new PartWriter(input, context);
    this.#forms = textFormsFor(input, target);
    if (context.clientWire !== WIRE) this.#own = new OpaqueReasoningFields();
  }

  read(answer: ChatAnswer): GenerateEvent[] {
    const events: GenerateEvent[] = [];
    this.#fields.addAnswer(answer);
    if (!this.#started) {
      this.#started = true;
      const extra = this.#fields.atStart();
      const model = answer.model ?? this.#input.model;
      events.push({ type: "start", model, inputTokens: this.#context.inputTokens, ...(extra && { extra }) });
    }
    // Counts come with the last content, after it, or both; the later ones know more (cached tokens).
    const usage = answer.usage ?? answer.choices?.[0]?.usage;
    if (usage) addPresent(usage, this.#usage ??= {});
    for (const choice of answer.choices ?? []) this.#readChoice(choice, events);
    return this.#own ? this.#own.carry(events) : events;
  }

  /** The increment of a chunk that is otherwise the same as the last one. */
  readMore(delta: ChatDelta): GenerateEvent[] {
    const events: GenerateEvent[] = [];
    this.#readDelta(delta, events, false);
    return this.#own ? this.#own.carry(events) : events;
  }

  /** More of a text that comes without anything else. `undefined` where all of the increment has to be looked at. */
  readAlone(kind: "text" | "reasoning" | "input", text: string, delta: ChatDelta): GenerateEvent[] | undefined {
    if (this.#forms) return undefined;
    this.#brought[kind] ||= kind !== "text" || text.trim() !== "";
    const events = kind === "input" ? this.#readCall(withInput(delta, text)) : this.#writer.append(kind, text);
    if (kind !== "input") this.#outputWeight += weighText(text);
    if (events.length > 0) this.#empty = false;
    if (!this.#own) return events;
    const isMore = this.#own.added === 0 && events.length === 1 && events[0]!.type === "part-delta";
    return isMore ? events : this.#own.carry(events);
  }

  /** Like `read`, but for an answer whose text may be long: it is looked into in slices. */
  *readLong(answer: ChatAnswer): SlicedWork<GenerateEvent[]> {
    const [choice] = answer.choices ?? [];
    const delta = choice && this.#newIn(choice);
    if (this.#forms && delta) this.#ahead = yield* this.#readAhead(this.#forms, delta);
    return this.read(answer);
  }

  /**
   * `complete`: the upstream reported that it was done. Without that and without a finish reason the connection was cut, which
   * is a failure, never an ending.
   */
  end(complete: boolean): GenerateEvent[] {
    const last = this.#forms ? this.#write(this.#forms.end()) : [];
    for (const fragment of this.#legacy ?? []) last.push(...this.#readCall(fragment));
    if (last.length > 0) this.#empty = false;
    const finish = this.#finish ?? (complete && !this.#empty ? { reason: "stop" as const } : undefined);
    if (!finish) throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
    const events = [...last, ...this.#writer.finish(finish, this.#countUsage(), this.#fields.atEnd(this.#usage))];
    return this.#own ? this.#own.carry(events) : events;
  }

  #readChoice(choice: ChatChoice, events: GenerateEvent[]): void {
    this.#fields.addChoice(choice);
    const delta = this.#newIn(choice);
    if (delta) this.#readDelta(delta, events, !choice.delta);
    if (choice.finish_reason) {
      if (saysFailure(choice.finish_reason)) throw upstreamStreamError({ error: choice.error });
      // vLLM also names the model's own end marks there, which no client asked for.
      const matched = choice.stop_reason ?? choice.provider_specific_fields?.stop_reason;
      const asked = this.#input.stopSequences?.find((sequence) => sequence === matched);
      this.#finish = parseFinish(choice.finish_reason, asked);
      if (this.#finish.raw !== undefined) this.#context.note(`replaced the ending ${choice.finish_reason}`);
    }
  }

  /** The increment. Some servers end a stream with the whole message (MiniMax): what of it came in increments is not new. */
  #newIn({ delta, message }: ChatChoice): ChatDelta | null | undefined {
    if (delta || !message) return delta;
    const { text, reasoning, details, refusal } = this.#brought;
    const { content } = message;
    const fresh = { ...message };
    if (Array.isArray(content)) fresh.content = content.filter(({ type }) => type === "thinking" ? !reasoning : !text);
    else if (text) fresh.content = null;
    if (reasoning) { for (const name of REASONING_KEYS) fresh[name] = null; }
    if (details) fresh.reasoning_details = null;
    if (refusal) fresh.refusal = null;
    return fresh;
  }

  #noteBrought({ reasoning_details, tool_calls, function_call }: ChatDelta, texts: ReturnType<DeltaTexts["in"]>): void {
    const brought = this.#brought;
    brought.text ||= texts.text.trim() !== "";
    brought.reasoning ||= texts.reasoning !== "";
    brought.details ||= Array.isArray(reasoning_details) && reasoning_details.length > 0;
    brought.refusal ||= texts.refusal !== "";
    if (brought.input || !tool_calls && !function_call) return;
    const calls = [...tool_calls ?? [], ...function_call ? [{ function: function_call }] : []];
    brought.input = !calls.every(saysNothing);
  }

  /** `isWhole`: it is no increment but a message. */
  #readDelta(delta: ChatDelta, events: GenerateEvent[], isWhole: boolean): void {
    const before = events.length;
    this.#fields.addDelta(delta);
    if (Array.isArray(delta.reasoning_details)) this.#own?.add(delta.reasoning_details);
    const texts = this.#texts.in(delta);
    const { text, reasoning, refusal } = texts;
    if (text || reasoning || refusal) this.#outputWeight += weighText(reasoning + text + refusal);
    // In this order: each step may end what the one before has opened.
    if (reasoning !== "") addAll(events, this.#writer.reasoning(reasoning));
    if (this.#forms) addAll(events, this.#readForms(this.#forms, text, delta, reasoning !== ""));
    else if (text !== "") addAll(events, this.#writer.text(text));
    if (delta.annotations?.length) this.#writer.attach({ annotations: delta.annotations.map(parseAnnotation) });
    if (refusal !== "") addAll(events, this.#writer.refusal(refusal));
    this.#readCalls(delta, events, isWhole && this.#brought.input);
    if (!isWhole) this.#noteBrought(delta, texts);
    if (events.length > before) this.#empty = false;
  }

  /** `areBegun`: they came in increments, and are told as a whole. */
  #readCalls({ tool_calls, function_call }: ChatDelta, events: GenerateEvent[], areBegun: boolean): void {
    if (!tool_calls && !function_call) return;
    if (areBegun && function_call?.arguments && this.#legacy) this.#legacy = [];
    if (areBegun) {
      tool_calls?.forEach((whole, place) => addAll(events, this.#writeCall(this.#calls.complete(whole, place))));
    } else if (tool_calls?.length === 1) addAll(events, this.#readCall(tool_calls[0]!));
    else tool_calls?.forEach((fragment, place) => addAll(events, this.#readCall(fragment, place)));
    // Some servers tell a call in its legacy form too (llama-cpp-python, where the tool was named).
    if (this.#legacy && tool_calls?.some((fragment) => !saysNothing(fragment))) this.#legacy = undefined;
    else if (function_call) this.#legacy?.push({ index: 0, function: function_call });
  }

  #readCall(fragment: ToolCallFragment, place?: number): GenerateEvent[] {
    return this.#writeCall(this.#calls.read(fragment, place));
  }

  #writeCall(added: ReturnType<OpenCalls["read"]>): GenerateEvent[] {
    if (!added) return [];
    this.#empty = false;
    this.#outputWeight += weighText(added.delta.input);
    return this.#writer.toolCall(added.key, added.delta);
  }

  /** Reasoning and calls that the upstream reports as such take precedence over those that its text may hold. */
  #readForms(forms: TextForms, text: string, delta: ChatDelta, hasReasoning: boolean): GenerateEvent[] {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const events = this.#write(ahead ?? [...this.#leaveForms(forms, delta, hasReasoning), ...forms.read(text)]);
    if (forms.isOver) this.#forms = undefined;
    return events;
  }

  *#readAhead(forms: TextForms, delta: ChatDelta): SlicedWork<TextEvent[]> {
    const { text, reasoning } = this.#texts.in(delta);
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

  #countUsage(): Usage {
    return completeUsage(this.#usage ? parseUsage(this.#usage) : {}, this.#context, this.#outputWeight);
  }
}
