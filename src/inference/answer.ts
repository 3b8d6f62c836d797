/** Answers of models: sources of events, or whole where nobody has looked into them. */
import { collectFrom } from "../canonical/collect.ts";
import type { GenerateEvent, GenerateResponse } from "../canonical/generate.ts";
import type { ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { replayAtOnce } from "../canonical/replay.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { transformed } from "../transforms/apply.ts";
import { type EventSource, opening, sourceOf } from "../util/event_source.ts";
import type { Answer, Held } from "./inference.ts";

/** An answer that comes whole. It is asked for when it is read. */
export function wholeAnswer<K extends ModelOperation>(whole: () => Promise<Output<K>>): Answer<K> {
  let events: EventSource<StreamEvent<K>> | undefined;
  return {
    whole,
    next() {
      events ??= opening(async () => sourceOf(eventsOf(await whole())));
      return events.next();
    },
    async cancel() {
      await events?.cancel();
    },
  };
}

function eventsOf<K extends ModelOperation>(output: Output<K>): Iterable<StreamEvent<K>> {
  return replayAtOnce(output as GenerateResponse) as Iterable<StreamEvent<K>>;
}

/** An answer that comes as events. The source itself becomes the answer, so that events pass no further step. */
export function streamedAnswer<K extends ModelOperation>(source: EventSource<StreamEvent<K>>): Answer<K> {
  const whole = () => collectFrom(source as EventSource<GenerateEvent>) as Promise<Output<K>>;
  return Object.assign(source, { whole });
}

/** The answer, changed by a transform. A whole answer passes as it is unless `sees` finds something in it. */
export function changedAnswer(
  answer: Answer<"generate">,
  transform: StreamTransform<GenerateEvent>,
  sees: (output: GenerateResponse) => boolean,
  signal: AbortSignal,
): Answer<"generate"> {
  return Object.assign(transformed(answer, transform, signal), {
    async whole() {
      const output = await answer.whole();
      if (!sees(output)) return output;
      return await collectFrom(transformed(sourceOf(replayAtOnce(output)), transform, signal));
    },
  });
}

/** Shows `watch` what a streamed answer and its parts hold besides their texts. */
export function watching(watch: (held: Held) => void): StreamTransform<GenerateEvent> {
  return {
    passesDeltas: true,
    push(event, emit) {
      if (event.type === "part-start") watch(event.part);
      if (event.type === "part-end" || event.type === "finish") watch(event);
      emit(event);
    },
  };
}
