/**
 * Reads documents in a thread without any permissions. PDFs become text and pictures of their pages, office documents text. A
 * document from a stranger may take long or much memory, and then the thread is ended.
 */
import { PDFiumLibrary } from "pdfium/browser/base64";
import { officeText } from "./office.ts";
import { encodePng } from "./png.ts";

export type DocumentKind = "pdf" | "docx" | "xlsx" | "pptx";

export interface DocumentJob {
  kind: DocumentKind;
  bytes: Uint8Array;
  /** The limit on the text, in characters. */
  most: number;
  /** The most pages of which pictures are made, and the length of their longer side, in pixels. */
  pictures: number;
  side: number;
}

export interface ReadDocument {
  text: string;
  /** How many pages a PDF has. */
  pages?: number;
  /** The first pages of a PDF as PNG. */
  pictures?: Uint8Array<ArrayBuffer>[];
  /** Whether the text goes on. */
  isCut?: boolean;
}

/** Absent if the bytes are not of the type that they claim. The first message says that the thread is up. */
export type DocumentDone = { page?: ReadDocument } | "up";

const port = self as unknown as {
  postMessage(done: DocumentDone): void;
  onmessage: (event: MessageEvent<DocumentJob>) => void;
};

// Office documents and PDFs are inflated by code that can be limited.
delete (globalThis as { DecompressionStream?: unknown }).DecompressionStream;
// Node's threads have no scope of a worker, by which the library knows where it is.
(globalThis as { WorkerGlobalScope?: unknown }).WorkerGlobalScope ??= class {};

/** Loaded before the first document: afterwards the thread can read no file on Node. */
const pdfium = await PDFiumLibrary.init({ disableBase64Warning: true });

port.onmessage = async ({ data }) => {
  try {
    const { kind, bytes, most } = data;
    const { text, ...rest } = kind === "pdf" ? await readPdf(data) : { text: officeText(kind, bytes, most) };
    const isCut = text.length > most;
    port.postMessage({ page: { ...rest, text: text.slice(0, most).toWellFormed(), ...(isCut && { isCut }) } });
  } catch {
    port.postMessage({});
  }
};

port.postMessage("up");

/** The most pages of a PDF whose text is read. */
const MOST_PAGES = 2_000;

/** Throws if it is not a PDF, or a locked one. */
async function readPdf({ bytes, most, pictures: wanted, side }: DocumentJob): Promise<ReadDocument> {
  const pdf = await pdfium.loadDocument(bytes);
  try {
    const pages = pdf.getPageCount();
    const texts: string[] = [];
    const pictures: Uint8Array<ArrayBuffer>[] = [];
    let length = 0;
    for (let at = 0; at < Math.min(pages, MOST_PAGES) && (length <= most || at < wanted); at++) {
      const page = pdf.getPage(at);
      const text = page.getText().replaceAll("\r\n", "\n").trim();
      length += text.length;
      if (text !== "") texts.push(text);
      if (at >= wanted) continue;
      const { originalWidth, originalHeight } = page.getOriginalSize();
      const scale = side / Math.max(originalWidth, originalHeight, 1);
      const { data, width, height } = await page.render({ scale, render: "bitmap" });
      pictures.push(encodePng(data, width, height));
    }
    return { text: texts.join("\n\n"), pages, ...(pictures.length > 0 && { pictures }) };
  } finally {
    pdf.destroy();
  }
}
