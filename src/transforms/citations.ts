/** Citations: the numbers in square brackets that the model writes after what it took from a numbered result. */
import type { Annotation, GenerateEvent, Message } from "../canonical/generate.ts";
import type { SearchHit } from "../canonical/hosted.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { type Marker, MarkerReader } from "./markers.ts";

const QUOTE_LENGTH = 150;

type Hits = ReadonlyMap<number, SearchHit>;

/** The citations of known hits in a text, with the positions of their markers in UTF-16 units. */
export function citationsIn(text: string, hits: Hits): Annotation[] {
  return citationsOf(new MarkerReader().read(text), hits);
}

function citationsOf(markers: readonly Marker[], hits: Hits): Annotation[] {
  return markers.flatMap(({ number, start, end }): Annotation[] => {
    const hit = hits.get(number);
    if (!hit) return [];
    const quote = hit.text === "" ? {} : { quote: hit.text.slice(0, QUOTE_LENGTH).toWellFormed() };
    return [{ type: "url-citation", url: hit.url, title: hit.title, start, end, ...quote }];
  });
}

/**
 * Adds citations to the texts of an answer. `hits`: the hits of earlier turns; those of this turn are collected as they
 * pass.
 */
export function citing(hits: Map<number, SearchHit>): StreamTransform<GenerateEvent> {
  let found: Annotation[] = [];
  let reader = new MarkerReader();
  return {
    push(event, emit) {
      if (event.type === "part-start") {
        const { part } = event;
        [found, reader] = [[], new MarkerReader()];
        if (part.type === "hosted" && part.result?.kind === "hits") {
          for (const hit of part.result.hits) hits.set(hit.number, hit);
        }
      } else if (event.type === "part-delta" && event.delta.type === "text" && hits.size > 0) {
        for (const one of citationsOf(reader.read(event.delta.text), hits)) found.push(one);
      } else if (event.type === "part-end" && found.length > 0) {
        return emit({ ...event, annotations: [...event.annotations ?? [], ...found] });
      }
      emit(event);
    },
  };
}

/** Greater numbers in a summary are mostly years. */
const MOST_SUMMARIZED = 999;

/**
 * The greatest number of any hit, including numbers that a summary may refer to. New hits get greater ones, so that
 * citations in the summary are not attributed to them.
 */
export function lastNumber(messages: readonly Message[], hits: Hits): number {
  let last = 0;
  for (const number of hits.keys()) last = Math.max(last, number);
  for (const message of messages) {
    if (message.role !== "user" || !message.isSummary) continue;
    for (const part of message.content) {
      const markers = part.type === "text" ? new MarkerReader().read(part.text) : [];
      for (const { number } of markers) if (number <= MOST_SUMMARIZED) last = Math.max(last, number);
    }
  }
  return last;
}
