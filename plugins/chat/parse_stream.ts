import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { type JsonValue, readJson } from "../../src/canonical/json.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import { AlikeFrames } from "../../src/transforms/alike_frames.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { type TextPlace, textPlaceIn, withText } from "./alike_chunks.ts";
import { ChoiceFilter } from "./choice_filter.ts";
import { parseAnswer } from "./parse_response.ts";
import { AnswerReader } from "./reader.ts";
import type { ChatAnswer } from "./wire.ts";

/** The length up to which a chunk takes no time that anybody notes, in characters. */
const LONG = 4_096;

/** An upstream's stream of chunks. It is over with `[DONE]`, or where the connection ends after a finish reason. */
export function parseStream(
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): StreamReader<GenerateEvent> {
  return new ChunkReader(new AnswerReader(input, target, context));
}

class ChunkReader implements StreamReader<GenerateEvent> {
  done = false;
  readonly #answer: AnswerReader;
  readonly #one = new ChoiceFilter();
  readonly #alike = new AlikeFrames();
  /** Where the text stands in chunks that are alike. */
  #place: TextPlace | undefined;

  constructor(answer: AnswerReader) {
    this.#answer = answer;
  }

  read({ event, data }: Frame, emit: Emit<GenerateEvent>): SlicedWork<void> | void {
    const text = data?.trim();
    if (!text) return;
    if (text === "[DONE]") {
      this.done = true;
      return this.#end(true, emit);
    }
    const isLong = text.length > LONG;
    const more = event === "error" || isLong ? undefined : this.#alike.textIn(text);
    if (more === undefined) return this.#readChunk(text, event === "error", isLong, emit);
    const place = this.#place!;
    const events = place.only && this.#answer.readAlone(place.only, more, place.delta);
    for (const event of events ?? this.#answer.readMore(withText(place, more))) emit(event);
  }

  /** A chunk that is more than another text in what came before. */
  #readChunk(text: string, isError: boolean, isLong: boolean, emit: Emit<GenerateEvent>): SlicedWork<void> | void {
    const body = parseFrame(text);
    if (isError) throw upstreamStreamError(body);
    const chunk = parseAnswer(body);
    // Some servers send signs of life as data.
    if (!chunk.choices && !chunk.usage) return;
    const ours = this.#one.take(chunk);
    this.#place = ours.length === 1 ? textPlaceIn(chunk) : undefined;
    this.#alike.learn(text, this.#place?.text);
    if (isLong) return this.#readLong(ours, emit);
    for (const one of ours) this.#answer.read(one).forEach(emit);
  }

  end(emit: Emit<GenerateEvent>): void {
    this.#end(false, emit);
  }

  *#readLong(chunks: readonly ChatAnswer[], emit: Emit<GenerateEvent>): SlicedWork<void> {
    for (const chunk of chunks) (yield* this.#answer.readLong(chunk)).forEach(emit);
  }

  #end(isComplete: boolean, emit: Emit<GenerateEvent>): void {
    for (const chunk of this.#one.end()) this.#answer.read(chunk).forEach(emit);
    // If another answer took over, this one was cut off.
    this.#answer.end(isComplete && !this.#one.hasOthers).forEach(emit);
  }
}

export function parseFrame(text: string): JsonValue {
  const body = readJson(text);
  if (body !== undefined) return body;
  throw new GatewayError("upstream_error", "The upstream's stream holds a frame that is not JSON");
}
