/**
 * Reads pages, in a thread of its own that may touch nothing: what strangers send can be made to take long, or much memory, and
 * then the thread is ended.
 */
import { decodeText } from "./content.ts";
import { type PageText, readHtml } from "./html.ts";
import { getDocumentProxy } from "unpdf";

export interface Job {
  kind: "html" | "pdf";
  bytes: Uint8Array;
  charset?: string;
  url: string;
  /** Characters of text. */
  most: number;
  /** Whether there is little time left. */
  isHasty: boolean;
}

/** The text, or nothing where the bytes are not what they are called. The first message is that the thread is up. */
export type Done = { page?: PageText } | "up";

const port = self as unknown as { postMessage(done: Done): void; onmessage: (event: MessageEvent<Job>) => void };

// It gives all that a few bytes stand for at once (Deno 2.9.6), and nothing could end it. The reader of PDFs has one of its own.
delete (globalThis as { DecompressionStream?: unknown }).DecompressionStream;

port.onmessage = async ({ data: { kind, bytes, charset, url, most, isHasty } }) => {
  try {
    const page = kind === "pdf"
      ? await readPdf(bytes, most)
      : readHtml(decodeText(bytes, charset, "html"), url, most, isHasty);
    port.postMessage({ page: { ...page, text: page.text.slice(0, most + 1).toWellFormed() } });
  } catch {
    port.postMessage({});
  }
};

port.postMessage("up");

/** The text of a PDF. */
const MOST_PAGES = 2_000;

/** `most`: characters; pages after them are not looked at. Throws where it is no PDF, or one that is locked. */
async function readPdf(bytes: Uint8Array, most: number): Promise<PageText> {
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    const pages: string[] = [];
    let length = 0;
    for (let number = 1; number <= Math.min(pdf.numPages, MOST_PAGES) && length <= most; number++) {
      const page = await pdf.getPage(number);
      const { items } = await page.getTextContent();
      const text = items.map((item) => "str" in item ? item.str + (item.hasEOL ? "\n" : "") : "").join("").trim();
      page.cleanup();
      pages.push(text);
      length += text.length;
    }
    const title = titleIn(await pdf.getMetadata().catch(() => undefined));
    return { ...(title && { title }), text: pages.filter(Boolean).join("\n\n") };
  } finally {
    await pdf.loadingTask.destroy();
  }
}

function titleIn(metadata: { info: object } | undefined): string | undefined {
  const { Title } = (metadata?.info ?? {}) as { Title?: unknown };
  return typeof Title === "string" && Title.trim() !== "" ? Title.trim().slice(0, 300) : undefined;
}
