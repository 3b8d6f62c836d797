/**
 * Reasoning and calls of tools that an engine leaves in the text of an answer, because it does not know the model's own way
 * to write them. Text that only looks like one stays as it is: calls of tools that were not offered, what is not JSON, what
 * stands in code or amid a sentence.
 */
import type { SlicedWork } from "../../../src/util/sliced_work.ts";
import type { CallableTools, TextCall } from "./callable_tools.ts";
import { MarkdownPlace } from "./markdown_place.ts";
import { readAddressed, readBareObject } from "./calls.ts";
import { CHANNEL_ENDS, type Grammar } from "./families.ts";
import { readPython } from "./python.ts";
import { Marks, oneOf, peek, type Reading, skipSpace, Source, until } from "./source.ts";

/** A part of a text, as what it turns out to be. The parts come in the order of the text. */
export type TextEvent = { type: "text" | "reasoning"; text: string } | ({ type: "call" } & TextCall);

/** The greatest length of the header of a message of harmony, in characters. */
const LONGEST_HEADER = 256;

const NO_TOOLS: CallableTools = new Map();

/** An answer of more calls, with what stands between them, is a text that repeats itself: nobody is to run all of them. */
const MOST_EVENTS = 2_000;

/** How much of a text is read before others may have a turn, in characters. */
const SLICE = 2_048;

interface Reads {
  /** The answer begins with thoughts whose opening mark is not in it. */
  isOpened?: boolean;
  /** Only what the text begins with is read; the rest stays text. */
  isAtStart?: boolean;
}

/** Reads the text of one answer, which may be cut into pieces anywhere. */
export class TextForms {
  readonly #grammar: Grammar;
  #tools: CallableTools;
  #isOpened: boolean;
  readonly #isAtStart: boolean;
  readonly #source = new Source((text) => this.#pass(text));
  readonly #place = new MarkdownPlace();
  #events: TextEvent[] = [];
  /** From the first call on: the text as it came, and what it is taken for. Which of them counts is known at the end. */
  #called: { text: string; events: TextEvent[] } | undefined;
  #kind: "text" | "reasoning" = "text";
  /** The kind of thing before the next character, but for whitespace. */
  #after: "nothing" | "reasoning" | "call" | "text" = "nothing";
  /** The marks that end the text that a mark opened. */
  #textEnds: readonly string[] = [];
  #reading: Reading<void>;

  constructor(grammar: Grammar, tools: CallableTools, { isOpened = false, isAtStart = false }: Reads = {}) {
    this.#grammar = grammar;
    this.#tools = tools;
    this.#isOpened = isOpened;
    this.#isAtStart = isAtStart;
    this.#reading = this.#begin();
  }

  /** Whether all that is still to come is text. */
  get isOver(): boolean {
    return this.#isAtStart && this.#after === "text" && this.#textEnds.length === 0 && !this.#called;
  }

  read(text: string): TextEvent[] {
    if (text === "") return [];
    this.#readOn(text);
    return this.#takeEvents();
  }

  /** Like `read`, but in slices, for a text that may be long. */
  *readLong(text: string): SlicedWork<TextEvent[]> {
    for (let at = 0; at < text.length; at += SLICE) {
      this.#readOn(text.slice(at, at + SLICE));
      yield;
    }
    return this.#takeEvents();
  }

  #readOn(text: string): void {
    if (this.#called) this.#called.text += text;
    this.#source.append(text);
    this.#reading.next();
  }

  /** The upstream sends its calls itself: what looks like one in the text is none. */
  leaveCalls(): TextEvent[] {
    this.#tools = NO_TOOLS;
    if (!this.#called) return [];
    const { text } = this.#called;
    this.#called = undefined;
    this.#source.take();
    this.#kind = "text";
    this.#pass(text);
    this.#after = "text";
    this.#reading = this.#begin();
    return this.#takeEvents();
  }

  /** The upstream sends reasoning itself, so that the text does not begin amid it. */
  leaveReasoning(): void {
    this.#isOpened = false;
  }

  /** The events that were held back. Nothing more is read. */
  end(): TextEvent[] {
    this.#source.over = true;
    this.#reading.next();
    const { text, events } = this.#called ?? { text: "", events: [] };
    this.#called = undefined;
    if (events.length <= MOST_EVENTS) this.#events.push(...events);
    else {
      this.#kind = "text";
      this.#pass(text);
    }
    return this.#takeEvents();
  }

  #takeEvents(): TextEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  #pass(text: string): void {
    if (this.#kind === "text") this.#place.follow(text);
    const events = this.#called?.events ?? this.#events;
    const last = events.at(-1);
    if (last && last.type === this.#kind) last.text += text;
    else events.push({ type: this.#kind, text });
  }

  /** A reading that waits for the first text. */
  #begin(): Reading<void> {
    this.#source.append("");
    const reading = this.#read();
    reading.next();
    return reading;
  }

  *#read(): Reading<void> {
    const source = this.#source;
    yield* peek(source);
    if (this.#isOpened) yield* this.#readOpened();
    for (;;) {
      let next = yield* peek(source);
      const isFresh = this.#after !== "text";
      if (isFresh) {
        source.hold();
        next = yield* skipSpace(source);
        if (this.#after === "reasoning" || (this.#after === "call" && next === "")) source.take();
      }
      if (next === "") {
        source.release();
        return;
      }
      const mayBeCall = this.#grammar.isBare && isFresh && (next === "{" || next === "[");
      if (mayBeCall || this.#grammar.marks.mayBegin(source)) {
        source.hold();
        yield* this.#readMark(next);
      } else {
        if (isFresh) this.#leaveAsText();
        this.#grammar.marks.skipTo(source);
      }
    }
  }

  /** Some models write the tag that their template has written already. */
  *#readOpened(): Reading<void> {
    const source = this.#source;
    source.hold();
    yield* skipSpace(source);
    this.#kind = "reasoning";
    if (yield* oneOf(source, ["<think>"])) source.take();
    else source.release();
    yield* this.#readReasoning(["</think>"]);
  }

  *#readReasoning(ends: readonly string[]): Reading<void> {
    const source = this.#source;
    this.#kind = "reasoning";
    source.hold();
    yield* skipSpace(source);
    source.take();
    const marks = new Marks(ends);
    while ((yield* peek(source)) !== "") {
      if (!marks.mayBegin(source)) {
        marks.skipTo(source);
        continue;
      }
      source.hold();
      if (yield* oneOf(source, ends)) {
        source.take();
        break;
      }
      source.at++;
      source.release();
    }
    this.#kind = "text";
    this.#follow("reasoning");
  }

  /** Reads on from a character that may begin a mark; all from there is held. */
  *#readMark(next: string): Reading<void> {
    const source = this.#source;
    const marks = this.#marksAt().filter((mark) => mark[0] === next);
    const mark = yield* oneOf(source, marks);
    if (mark === undefined) {
      const isAnswer = this.#grammar.isBare && this.#tools.size > 0 &&
        (this.#after === "nothing" || this.#after === "reasoning");
      if (isAnswer && next === "{") return yield* this.#settle(yield* readBareObject(source, this.#tools));
      if (isAnswer && next === "[") return yield* this.#settle(yield* this.#readBareList());
      source.at++;
      return this.#leaveAsText();
    }
    yield* this.#readMarked(mark);
  }

  *#readMarked(mark: string): Reading<void> {
    const source = this.#source;
    const { calls, channels, thoughts, texts } = this.#grammar;
    const form = calls.find(({ open }) => open === mark);
    if (form) return yield* this.#settle(yield* form.read(source, this.#tools));
    if (channels.includes(mark)) return yield* this.#readChannel();
    source.take();
    const closes = thoughts.get(mark);
    if (closes) return yield* this.#readReasoning(closes);
    const ends = texts.get(mark);
    if (ends) this.#textEnds = ends;
    else if (this.#textEnds.includes(mark)) this.#textEnds = [];
    else if (this.#after === "call") return;
    this.#follow(ends ? "nothing" : "reasoning");
  }

  *#readBareList(): Reading<TextCall[] | undefined> {
    const calls = yield* readPython(this.#source, this.#tools);
    return calls && (yield* skipSpace(this.#source)) === "" ? calls : undefined;
  }

  /** The marks that mean something here. */
  #marksAt(): string[] {
    const { isInCode, last, lastBefore } = this.#place;
    const { thoughts, texts, channels, leftovers, calls } = this.#grammar;
    const marks = [...this.#textEnds];
    const after = this.#after;
    if (after === "text" && this.#isAtStart) return marks;
    if (after !== "text") marks.push(...thoughts.keys(), ...texts.keys(), ...channels);
    if (after === "nothing") marks.push(...[...thoughts.values()].flat());
    else if (after !== "text") marks.push(...leftovers);
    if (this.#tools.size === 0 || isInCode) return marks;
    for (const { open, isToken, isInner } of calls) {
      const isCited = (isToken ? QUOTE : AMID).test(last) || (isInner && (last || lastBefore) === ">");
      if (!isCited) marks.push(open);
    }
    return marks;
  }

  /** A message of harmony: its header tells whether it is reasoning, text or a call. */
  *#readChannel(): Reading<void> {
    const source = this.#source;
    const header = (yield* until(source, "<|message|>", LONGEST_HEADER)) ?? "";
    const [, channel] = /(?:^|<\|channel\|>)\s*(analysis|commentary|final)\b/.exec(header) ?? [];
    const [, to] = /\bto=([^\s<]+)/.exec(header) ?? [];
    if (channel === undefined) return this.#leaveAsText();
    if (to !== undefined) return yield* this.#settle(yield* readAddressed(source, to, this.#tools));
    source.take();
    if (channel === "analysis") return yield* this.#readReasoning(CHANNEL_ENDS);
    this.#textEnds = CHANNEL_ENDS;
    this.#follow("nothing");
  }

  /** A call that more of its line follows is spoken of, not made. */
  *#settle(calls: TextCall[] | undefined): Reading<void> {
    const source = this.#source;
    const next = calls && (yield* skipSpace(source, " \t"));
    const isMade = next === "" || (next !== undefined && "\r\n<[]".includes(next));
    if (!calls || !isMade || this.#tools.size === 0) return this.#leaveAsText();
    const text = source.take();
    this.#called ??= { text: text + source.piece.slice(source.at), events: [] };
    for (const call of calls) this.#called.events.push({ type: "call", ...call });
    this.#follow("call");
  }

  #leaveAsText(): void {
    this.#source.release();
    this.#after = "text";
  }

  #follow(what: "nothing" | "reasoning" | "call"): void {
    this.#after = what;
    this.#place.reset();
  }
}

/** Characters after which, on its line, a mark is none: `AMID` for a tag, `QUOTE` for a token, which may follow a text at once. */
const AMID = /[\p{L}\p{N}\p{Ps}\p{Pi}\p{Pf}"'`,=\-]/u;
const QUOTE = /[\p{Ps}\p{Pi}"'`=]/u;
