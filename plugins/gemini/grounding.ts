/** The sources of an answer: the queries, the pages that were found, and where the text cites them. */
import type { Annotation, HostedPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";

/** The most cited text in an answer, in UTF-16 units: citations overlap, and each repeats its text. */
const MOST_CITED = 1_000_000;

export class Grounding {
  readonly #queries = new Set<string>();
  /** The sources by their URLs. Supports refer to their indexes. */
  readonly #sources = new Map<string, { index: number; title: string }>();
  readonly #found = new Map<string, string>();
  readonly #supports: JsonObject[] = [];
  readonly #pages = new Map<string, boolean>();
  readonly #note: Context["note"];
  /** The cited text so far, in UTF-16 units. */
  #cited = 0;

  constructor({ note }: Pick<Context, "note">) {
    this.#note = note;
  }

  /** Adds a step of a hosted tool. */
  add({ call, result }: HostedPart): void {
    if (call.kind === "web-search") this.#queries.add(call.query);
    if (call.kind === "web-fetch" && result) this.#pages.set(call.url, result.kind === "page");
    if (result?.kind === "hits") { for (const { url, title } of result.hits) this.#found.set(url, title); }
  }

  /** Adds the citations of a text. `before`: the bytes of the answer's earlier texts, because positions are in bytes. */
  cite(annotations: readonly Annotation[], text: string, before: number): void {
    const supports: { index: number; start: number; end: number }[] = [];
    for (const { url, title, start: from, end: to } of annotations) {
      const index = this.#indexOf(url, title ?? url);
      if (from === undefined || to === undefined) continue;
      const start = placeIn(text, from);
      supports.push({ index, start, end: Math.max(start, placeIn(text, to)) });
    }
    const bytes = bytesBefore(text, supports.flatMap(({ start, end }) => [start, end]));
    for (const { index, start, end } of supports) {
      const places = { startIndex: before + bytes.get(start)!, endIndex: before + bytes.get(end)! };
      const segment = { ...places, ...this.#repeat(text, start, end) };
      this.#supports.push({ segment, groundingChunkIndices: [index] });
    }
  }

  /** The cited text. It is left out if citations repeat far more than an answer, because the positions are enough. */
  #repeat(text: string, start: number, end: number): { text?: string } {
    const isFull = this.#cited > MOST_CITED;
    this.#cited += end - start;
    if (this.#cited <= MOST_CITED) return { text: text.slice(start, end) };
    if (!isFull) this.#note("dropped the text of citations");
    return {};
  }

  #indexOf(url: string, title: string): number {
    const known = this.#sources.get(url);
    if (known) return known.index;
    const index = this.#sources.size;
    this.#sources.set(url, { index, title });
    return index;
  }

  /** The fields of a candidate, if anything was searched or cited. Without citations, everything that was found is a source. */
  serialize(): JsonObject {
    if (this.#sources.size === 0) { for (const [url, title] of this.#found) this.#indexOf(url, title); }
    const metadata: JsonObject = {
      ...(this.#queries.size > 0 && { webSearchQueries: [...this.#queries] }),
      ...(this.#sources.size > 0 && {
        groundingChunks: [...this.#sources].map(([uri, { title }]) => ({ web: { uri, title } })),
      }),
      ...(this.#supports.length > 0 && { groundingSupports: this.#supports }),
    };
    const pages = [...this.#pages].map(([retrievedUrl, isThere]) => ({
      retrievedUrl,
      urlRetrievalStatus: `URL_RETRIEVAL_STATUS_${isThere ? "SUCCESS" : "ERROR"}`,
    }));
    return {
      ...(Object.keys(metadata).length > 0 && { groundingMetadata: metadata }),
      ...(pages.length > 0 && { urlContextMetadata: { urlMetadata: pages } }),
    };
  }
}

/** Normalizes a position, as `slice` does. */
function placeIn(text: string, place: number): number {
  const whole = Math.trunc(place);
  return Math.min(Math.max(whole < 0 ? text.length + whole : whole, 0), text.length);
}

/** Counts the bytes of a text before each of these positions, in one pass. */
function bytesBefore(text: string, places: readonly number[]): Map<number, number> {
  const found = new Map<number, number>();
  let bytes = 0;
  let at = 0;
  for (const place of [...new Set(places)].sort((a, b) => a - b)) {
    // Half of a surrogate pair is encoded as the three bytes of U+FFFD.
    const end = (text.codePointAt(place - 1) ?? 0) > 0xffff ? place - 1 : place;
    bytes += bytesIn(text.slice(at, end));
    at = end;
    found.set(place, end < place ? bytes + 3 : bytes);
  }
  return found;
}

const encoder = new TextEncoder();

export function bytesIn(text: string): number {
  return encoder.encode(text).length;
}
