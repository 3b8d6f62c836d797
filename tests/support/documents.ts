/** Documents made for tests. */
import { strToU8, type Zippable, zipSync } from "fflate";

type Bytes = Uint8Array<ArrayBuffer>;

/** A PDF with a line of text on each page. `size`: the side of a page, in points. */
export function pdfOf(lines: readonly string[], size = 600): Bytes {
  const page = (index: number) => 4 + 2 * index;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${lines.map((_, index) => `${page(index)} 0 R`).join(" ")}] /Count ${lines.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...lines.flatMap((line, index) => {
      const content = `BT /F1 24 Tf 72 300 Td (${line}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${size} ${size}] /Contents ${page(index) + 1} 0 R ` +
        "/Resources << /Font << /F1 3 0 R >> >> >>",
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ];
    }),
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const at = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, "0")} 00000 n \n`;
  });
  const count = objects.length + 1;
  const table = `xref\n0 ${count}\n0000000000 65535 f \n${offsets.join("")}`;
  return new Uint8Array(
    strToU8(`${text}${table}trailer << /Size ${count} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF`),
  );
}

function zipOf(parts: Record<string, string>): Bytes {
  const files: Zippable = Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)]));
  return new Uint8Array(zipSync(files));
}

export function docxOf(body: string): Bytes {
  return zipOf({ "word/document.xml": `<?xml version="1.0"?><w:document><w:body>${body}</w:body></w:document>` });
}

export function xlsxOf(sheet: string, shared: readonly string[] = []): Bytes {
  return zipOf({
    "xl/workbook.xml": '<workbook><sheets><sheet name="Costs &amp; more" sheetId="1"/></sheets></workbook>',
    "xl/sharedStrings.xml": `<sst>${shared.map((text) => `<si><t>${text}</t></si>`).join("")}</sst>`,
    "xl/worksheets/sheet1.xml": `<worksheet><sheetData>${sheet}</sheetData></worksheet>`,
  });
}

export function pptxOf(...slides: string[]): Bytes {
  return zipOf(Object.fromEntries(slides.map((text, index) => [
    `ppt/slides/slide${index + 1}.xml`,
    `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`,
  ])));
}
