/** The text of a PDF. */
import { getDocumentProxy } from "unpdf";
import type { PageText } from "./html.ts";

const MOST_PAGES = 2_000;

/** `most`: characters; pages after them are not looked at. Throws where it is no PDF, or one that is locked. */
export async function readPdf(bytes: Uint8Array, most: number): Promise<PageText> {
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
