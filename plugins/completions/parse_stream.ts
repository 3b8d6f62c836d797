import type { CompleteEvent, CompleteRequest } from "../../src/canonical/complete.ts";
import type { Extra } from "../../src/canonical/extra.ts";
import { parseJson } from "../../src/canonical/json.ts";
import type { Finish } from "../../src/canonical/generate.ts";
import { type ReportedUsage, sumReported } from "../../src/canonical/usage.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import { decode, type Piece } from "./decode.ts";
import { ChatReader } from "./over_chat.ts";
import { choicesOf, echoOf, isEmptied } from "./parse_response.ts";
import { StopCutter } from "./stops.ts";
import { type Place, stopsFor, type Way, wayOf } from "./ways.ts";

/** Reads a streamed answer, on whichever wire it comes. */
export function parseStream(
  input: CompleteRequest,
  place: Place & { context: AnswerContext },
): StreamReader<CompleteEvent> {
  const way = wayOf(input, place);
  const { own } = stopsFor(input, place);
  const cutting = new CuttingEmitter(own, choicesOf(input), echoOf(input, place, way), isEmptied(input, place, way));
  if (way !== "chat") return new CompletionReader(way, cutting);
  const { chat, target, context } = place;
  const request = { model: input.model, messages: [], stream: true };
  return new CutChatReader(new ChatReader(chat!.stream!.reader(request, target, context)), cutting);
}

/** Reads the frames of one answer. It ends with `[DONE]`, or with the last piece of each completion where there is no such mark. */
class CompletionReader implements StreamReader<CompleteEvent> {
  done = false;
  readonly #way: Exclude<Way, "chat">;
  readonly #cutting: CuttingEmitter;
  #usage: ReportedUsage = {};
  #extra: Extra | undefined;
  #isCounted = false;
  /** The length of each completion so far, in characters. */
  readonly #lengths = new Map<number, number>();

  constructor(way: Exclude<Way, "chat">, cutting: CuttingEmitter) {
    this.#way = way;
    this.#cutting = cutting;
  }

  read({ data }: Frame, emit: Emit<CompleteEvent>): void {
    const text = data?.trim();
    if (!text) return;
    if (text === "[DONE]") return this.#finish(emit);
    const { pieces, usage, isLast, extra } = decode(parseJson(text), this.#way);
    if (extra) this.#extra = extra;
    if (usage) this.#count(usage, pieces);
    for (const piece of pieces) this.#cutting.pass(this.#placed(piece), emit);
    if (isLast || this.#cutting.isCutOff) this.#finish(emit);
  }

  /** llama.cpp reports each completion at its end. Others report all of them, in a frame without any or with the last one. */
  #count(usage: ReportedUsage, pieces: readonly Piece[]): void {
    const counted = pieces.length > 0 && this.#isCounted ? sumReported([this.#usage, usage]) : usage;
    this.#isCounted = true;
    this.#usage = { ...this.#usage, ...counted };
  }

  /** The piece with its tokens' positions in the whole completion. */
  #placed(piece: Piece): Piece {
    const { index, text, logprobs, isRelative } = piece;
    const from = this.#lengths.get(index) ?? 0;
    this.#lengths.set(index, from + text.length);
    if (!logprobs || !isRelative || from === 0) return piece;
    return { ...piece, logprobs: { ...logprobs, offsets: logprobs.offsets.map((at) => at + from) } };
  }

  end(emit: Emit<CompleteEvent>): void {
    if (this.done) return;
    if (!this.#cutting.isComplete) throw incomplete();
    this.#finish(emit);
  }

  #finish(emit: Emit<CompleteEvent>): void {
    this.done = true;
    const finish = this.#cutting.end(emit);
    const usage = this.#cutting.isCutOff ? {} : this.#usage;
    emit({ type: "finish", usage, finish, ...(this.#extra && { extra: this.#extra }) });
  }
}

/** Passes the pieces of all completions on, each up to its end. */
class CuttingEmitter {
  readonly #stops: readonly string[];
  readonly #echo: (index: number) => string;
  readonly #isEmptied: boolean;
  readonly #cutters = new Map<number, StopCutter>();
  readonly #ends = new Map<number, Finish>();
  readonly #count: number;
  #cuts = 0;

  constructor(stops: readonly string[], count: number, echo: (index: number) => string, isEmptied: boolean) {
    this.#stops = stops;
    this.#count = count;
    this.#echo = echo;
    this.#isEmptied = isEmptied;
  }

  /** Whether all completions have ended. */
  get isComplete(): boolean {
    return this.#ends.size === this.#count;
  }

  /** Whether the gateway cut one of them and nothing else goes on, so that the rest of the stream is not needed. */
  get isCutOff(): boolean {
    return this.#cuts > 0 && this.isComplete;
  }

  pass({ index, text, logprobs, finish, extra }: Piece, emit: Emit<CompleteEvent>): void {
    if (this.#ends.has(index)) return;
    if (!(index >= 0 && index < this.#count)) {
      throw new GatewayError("upstream_error", `The upstream sent completion ${index} of ${this.#count}`);
    }
    const cutter = this.#cutters.get(index) ?? this.#begin(index, emit);
    const { text: passed, stop } = cutter.push(this.#isEmptied ? "" : text, finish !== undefined);
    const rest = { ...(logprobs && { logprobs }), ...(extra && { extra }) };
    if (passed !== "" || logprobs) emit({ type: "delta", index, text: passed, ...rest });
    if (stop !== undefined) this.#cuts++;
    if (stop === undefined && !finish) return;
    this.#end(index, stop === undefined ? finish! : { reason: "stop", stopSequence: stop }, emit);
  }

  /** Ends those completions whose end the server did not mark. */
  end(emit: Emit<CompleteEvent>): Finish {
    for (let index = 0; index < this.#count; index++) {
      if (!this.#ends.has(index)) this.pass({ index, text: "", finish: { reason: "stop" } }, emit);
    }
    return this.#ends.get(0)!;
  }

  #begin(index: number, emit: Emit<CompleteEvent>): StopCutter {
    const cutter = new StopCutter(this.#stops);
    this.#cutters.set(index, cutter);
    const before = this.#echo(index);
    if (before !== "") emit({ type: "delta", index, text: before });
    return cutter;
  }

  #end(index: number, finish: Finish, emit: Emit<CompleteEvent>): void {
    this.#ends.set(index, finish);
    emit({ type: "choice-end", index, finish });
  }
}

/** A conversation's answer, cut like any other. */
class CutChatReader implements StreamReader<CompleteEvent> {
  readonly #inner: ChatReader;
  readonly #cutting: CuttingEmitter;
  #isCut = false;

  constructor(inner: ChatReader, cutting: CuttingEmitter) {
    this.#inner = inner;
    this.#cutting = cutting;
  }

  get done(): boolean {
    return this.#isCut || this.#inner.done;
  }

  read(frame: Frame, emit: Emit<CompleteEvent>) {
    return this.#inner.read(frame, (event) => this.#pass(event, emit));
  }

  end(emit: Emit<CompleteEvent>) {
    return this.#isCut ? undefined : this.#inner.end((event) => this.#pass(event, emit));
  }

  #pass(event: CompleteEvent, emit: Emit<CompleteEvent>): void {
    if (this.#isCut) return;
    if (event.type === "delta") this.#cutting.pass({ index: 0, text: event.text }, emit);
    else if (event.type === "choice-end") this.#cutting.pass({ index: 0, text: "", finish: event.finish }, emit);
    else emit(event);
    if (!this.#cutting.isCutOff || event.type === "finish") return;
    this.#isCut = true;
    emit({ type: "finish", usage: {}, finish: { reason: "stop" } });
  }
}

function incomplete(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
}
