/** What an answer cites: the numbers in square brackets that the model writes after what it took from a numbered result. */
import type { Annotation, GenerateEvent } from "../canonical/generate.ts";
import type { SearchHit } from "../canonical/hosted.ts";
import type { StreamTransform } from "../contract/stream.ts";

const MARKER = /\[(\d{1,4})\]/g;
/** The longest beginning of a marker that has not ended. */
const OPEN_MARKER = /\[\d{0,4}$/;
const QUOTE_LENGTH = 150;

/** The citations in a text: of known hits, each where its marker stands. Offsets count UTF-16 units from `from` on. */
export function citationsIn(text: string, hits: ReadonlyMap<number, SearchHit>, from = 0): Annotation[] {
  return [...text.matchAll(MARKER)].flatMap((marker): Annotation[] => {
    const hit = hits.get(Number(marker[1]));
    if (!hit) return [];
    const start = from + marker.index;
    return [{
      type: "url-citation",
      url: hit.url,
      title: hit.title,
      start,
      end: start + marker[0].length,
      ...(hit.text !== "" && { quote: hit.text.slice(0, QUOTE_LENGTH).toWellFormed() }),
    }];
  });
}

/** Adds to each text of an answer what it cites. `hits` are those of earlier turns; those of this one are learnt as they pass. */
export function citing(hits: Map<number, SearchHit>): StreamTransform<GenerateEvent> {
  let found: Annotation[] = [];
  let length = 0;
  /** The end of what has come that may be the beginning of a marker. */
  let rest = "";
  const read = (text: string) => {
    const pending = rest + text;
    for (const one of citationsIn(pending, hits, length - rest.length)) found.push(one);
    length += text.length;
    rest = OPEN_MARKER.exec(pending)?.[0] ?? "";
  };
  return {
    push(event, emit) {
      if (event.type === "part-start") {
        const { part } = event;
        [found, length, rest] = [[], 0, ""];
        if (part.type === "hosted" && part.result?.kind === "hits") {
          for (const hit of part.result.hits) hits.set(hit.number, hit);
        }
      } else if (event.type === "part-delta" && event.delta.type === "text" && hits.size > 0) read(event.delta.text);
      else if (event.type === "part-end" && found.length > 0) {
        return emit({ ...event, annotations: [...event.annotations ?? [], ...found] });
      }
      emit(event);
    },
  };
}
