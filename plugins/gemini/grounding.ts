/** What an answer rests on: what was searched for, what was found, and which of it the text cites where. */
import type { Annotation, HostedPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";

export class Grounding {
  readonly #queries = new Set<string>();
  /** By their addresses; their positions are what supports name. */
  readonly #sources = new Map<string, { index: number; title: string }>();
  readonly #found = new Map<string, string>();
  readonly #supports: JsonObject[] = [];
  readonly #pages = new Map<string, boolean>();

  /** A step of a tool that the server ran. */
  add({ call, result }: HostedPart): void {
    if (call.kind === "web-search") this.#queries.add(call.query);
    if (call.kind === "web-fetch" && result) this.#pages.set(call.url, result.kind === "page");
    if (result?.kind === "hits") { for (const { url, title } of result.hits) this.#found.set(url, title); }
  }

  /** What a text cites. `before`: the bytes of the answer's texts before it, because places are counted in bytes. */
  cite(annotations: readonly Annotation[], text: string, before: number): void {
    for (const { url, title, start, end } of annotations) {
      const index = this.#indexOf(url, title ?? url);
      if (start === undefined || end === undefined) continue;
      const cited = text.slice(start, end);
      const startIndex = before + bytesIn(text.slice(0, start));
      const segment = { startIndex, endIndex: startIndex + bytesIn(cited), text: cited };
      this.#supports.push({ segment, groundingChunkIndices: [index] });
    }
  }

  #indexOf(url: string, title: string): number {
    const known = this.#sources.get(url);
    if (known) return known.index;
    const index = this.#sources.size;
    this.#sources.set(url, { index, title });
    return index;
  }

  /** The fields of a candidate; none where nothing was searched or cited. All that was found stands for what nobody cites. */
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

const encoder = new TextEncoder();

export function bytesIn(text: string): number {
  return encoder.encode(text).length;
}
