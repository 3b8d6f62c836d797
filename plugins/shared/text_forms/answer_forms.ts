/** Reads the forms in the texts of an answer's events, for wires whose readers leave texts as they are. */
import type { GenerateEvent, GenerateRequest, OutputPart } from "../../../src/canonical/generate.ts";
import type { Frame } from "../../../src/contract/frame.ts";
import type { Context } from "../../../src/contract/context.ts";
import type { Emit, StreamReader } from "../../../src/contract/stream.ts";
import { type PartEnd, PartWriter } from "../../../src/transforms/part_writer.ts";
import type { SlicedWork } from "../../../src/util/sliced_work.ts";
import { type TextEvent, TextForms } from "./text_forms.ts";
import { asFunctionTool } from "../../../src/transforms/custom_tool.ts";
import { allowedTools } from "../../../src/transforms/offered_tools.ts";
import { upstreamName } from "../../../src/transforms/tool_names.ts";
import type { Target } from "../../../src/contract/driver.ts";
import type { CallableTools } from "./callable_tools.ts";
import { fullGrammar, grammarFor } from "./families.ts";

/** Families whose templates write the opening tag themselves, whatever was asked, so that answers begin with reasoning. */
const OPENED = /deepseek-r1|qwq|-thinking(?:-|$)|minimax-m2/i;

/** The beginning of a text that may hold a form. */
const BEGUN = /^\s*[<[{\]◁]/;

/** The reader of an answer's text. `undefined` if the target leaves texts as they are. */
export function textFormsFor(input: GenerateRequest, { textForms, model }: Target): TextForms | undefined {
  const isAuto = textForms === "auto" && input.tools?.length;
  if (textForms !== "parse" && !isAuto) return undefined;
  const grammar = isAuto ? grammarFor(model) : fullGrammar();
  return grammar && new TextForms(grammar, callableIn(input), {
    isOpened: !isAuto && OPENED.test(model),
    isAtStart: textForms === "auto",
  });
}

/** Whether the text of a whole answer to a request with tools may begin with a form that is read by default. */
export function mayHoldForms(text: unknown, { textForms, model }: Target): boolean {
  return textForms === "auto" && typeof text === "string" && BEGUN.test(text) && grammarFor(model) !== undefined;
}

function callableIn({ tools = [], toolChoice }: GenerateRequest): CallableTools {
  const offered = toolChoice?.type === "none" ? [] : allowedTools(tools, toolChoice).flatMap((tool) => {
    if (tool.type === "hosted") return [];
    // As the model knows it.
    return [[upstreamName(tool.name), (tool.type === "custom" ? asFunctionTool(tool) : tool).parameters] as const];
  });
  return new Map(offered);
}

type PartEndEvent = GenerateEvent & { type: "part-end" };

export class AnswerForms {
  readonly #forms: TextForms;
  readonly #writer: PartWriter;
  /** The part that goes on. */
  #part: OutputPart | undefined;
  /** Whether anything of it came in increments. */
  #isBegun = false;
  #callCount = 0;
  /** The end of the last text, whose last characters may wait for what follows. */
  #textEnd: PartEnd | undefined;
  /** Whether anything but text was found. */
  #isChanged = false;

  constructor(forms: TextForms, input: GenerateRequest, context: Pick<Context, "note">) {
    this.#forms = forms;
    this.#writer = new PartWriter(input, context);
  }

  /** Whether the events that follow are what they would be without this. */
  get isOver(): boolean {
    return this.#forms.isOver && !this.#isChanged;
  }

  *read(event: GenerateEvent): SlicedWork<GenerateEvent[]> {
    switch (event.type) {
      case "part-start":
        this.#part = event.part;
        this.#isBegun = false;
        return [...this.#write(this.#leaveForms(event.part)), ...this.#endText()];
      case "part-delta":
        return yield* this.#readDelta(event.delta.text);
      case "part-end":
        return this.#endPart(event);
      case "finish": {
        const last = this.#write(this.#forms.end());
        return [...last, ...this.#endText(), ...this.#writer.finish(event.finish, event.usage, event.extra)];
      }
      default:
        return [event];
    }
  }

  /** Calls and thoughts that the upstream tells itself take precedence over those in its texts. */
  #leaveForms({ type }: OutputPart): TextEvent[] {
    if (type === "reasoning") this.#forms.leaveReasoning();
    return type === "tool-call" ? this.#forms.leaveCalls() : [];
  }

  *#readDelta(text: string): SlicedWork<GenerateEvent[]> {
    const part = this.#part;
    this.#isBegun = true;
    if (part?.type === "text") return this.#write(yield* this.#forms.readLong(text));
    if (part?.type === "tool-call") return this.#writer.toolCall(part.id, { ...part, input: text });
    return part?.type === "refusal" ? this.#writer.refusal(text) : this.#writer.reasoning(text);
  }

  #endPart({ type: _, index: __, ...end }: PartEndEvent): GenerateEvent[] {
    const part = this.#part!;
    if (part.type === "tool-call") {
      const begun = this.#isBegun ? [] : this.#writer.toolCall(part.id, part);
      return [...begun, ...this.#writer.endToolCall(part.id)];
    }
    if (!this.#isBegun) return this.#writer.whole(part, end);
    this.#textEnd = end;
    return part.type === "text" ? [] : this.#endText();
  }

  #endText(): GenerateEvent[] {
    const end = this.#textEnd;
    this.#textEnd = undefined;
    if (!end) return [];
    this.#writer.attach(end);
    return this.#writer.endPart();
  }

  #write(read: readonly TextEvent[]): GenerateEvent[] {
    return read.flatMap((event) => {
      this.#isChanged ||= event.type !== "text";
      if (event.type !== "call") return this.#writer[event.type](event.text);
      const key = `text-${this.#callCount++}`;
      return [...this.#writer.toolCall(key, event), ...this.#writer.endToolCall(key)];
    });
  }
}

/** The events of a whole answer, with the forms in its texts read. */
export function* readForms(events: readonly GenerateEvent[], forms: AnswerForms): SlicedWork<GenerateEvent[]> {
  const all: GenerateEvent[] = [];
  for (const event of events) for (const read of yield* forms.read(event)) all.push(read);
  return all;
}

/** The reader of a stream, with the forms in its texts read. */
export class FormsReader implements StreamReader<GenerateEvent> {
  readonly #reader: StreamReader<GenerateEvent>;
  readonly #forms: AnswerForms;

  constructor(reader: StreamReader<GenerateEvent>, forms: AnswerForms) {
    this.#reader = reader;
    this.#forms = forms;
  }

  get done(): boolean {
    return this.#reader.done;
  }

  *read(frame: Frame, emit: Emit<GenerateEvent>): SlicedWork<void> {
    const events: GenerateEvent[] = [];
    const work = this.#reader.read(frame, (event) => events.push(event));
    if (work) yield* work;
    for (const event of events) {
      if (this.#forms.isOver) emit(event);
      else (yield* this.#forms.read(event)).forEach(emit);
    }
  }

  end(emit: Emit<GenerateEvent>): SlicedWork<void> | void {
    return this.#reader.end(emit);
  }
}
