/**
 * Reads pages in a thread without any permissions. A page from a stranger may take long or much memory, and then the thread is
 * ended.
 */
import { definePDFJSModule, getDocumentProxy } from "unpdf";
import { decodeText } from "./content.ts";
import { type PageText, readHtml } from "./html.ts";

export interface Job {
  kind: "html" | "pdf";
  bytes: Uint8Array;
  charset?: string;
  url: string;
  /** The limit on the text, in characters. */
  most: number;
  /** Whether there is little time left. */
  isHasty: boolean;
}

/** The text. Absent if the bytes are not of the type that they claim. The first message says that the thread is up. */
export type Done = { page?: PageText } | "up";

const port = self as unknown as { postMessage(done: Done): void; onmessage: (event: MessageEvent<Job>) => void };

// Deno's (2.9.6) gives everything that a few bytes expand to at once, and nothing could stop it. The PDF reader has its own.
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

// On Node the thread can read no file once it has a page, and the reader of PDFs would load this with the first one.
if (navigator.userAgent.startsWith("Node.js")) await definePDFJSModule(() => import("unpdf/pdfjs"));

port.postMessage("up");

/** The most pages of a PDF that are read. */
const MOST_PAGES = 2_000;

/** `most`: the limit on the text, in characters. Later pages are not read. Throws if it is not a PDF, or a locked one. */
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
