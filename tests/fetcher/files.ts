/** Files that sites send: right ones, and ones that are meant to do harm. */
import { crc32, deflateRawSync } from "node:zlib";

const encode = (text: string) => new TextEncoder().encode(text);

/** A PDF of one line of text a page. */
export function pdfOf(pages: string[], title: string): Uint8Array<ArrayBuffer> {
  const objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"];
  const kids: number[] = [];
  for (const page of pages) {
    const stream = `BT /F1 12 Tf 72 700 Td (${page}) Tj ET`;
    objects.push(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
    const resources = "/Resources << /Font << /F1 3 0 R >> >>";
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] ${resources} /Contents ${objects.length} 0 R >>`,
    );
    kids.push(objects.length);
  }
  objects[1] = `<< /Type /Pages /Kids [${kids.map((kid) => `${kid} 0 R`).join(" ")}] /Count ${kids.length} >>`;
  objects.push(`<< /Title (${title}) >>`);
  let file = "%PDF-1.4\n";
  const places = objects.map((object, index) => {
    const place = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${places.join("")}`;
  return encode(
    `${file}${table}trailer\n<< /Size ${size} /Root 1 0 R /Info ${size - 1} 0 R >>\nstartxref\n${file.length}\n%%EOF\n`,
  );
}

/** So many MiB of nothing, as gzip. */
export function bombOf(mebibytes: number): Uint8Array<ArrayBuffer> {
  const zeros = new Uint8Array(mebibytes * 2 ** 20).fill(97);
  const body = deflateRawSync(zeros);
  const tail = new DataView(new ArrayBuffer(8));
  tail.setUint32(0, crc32(zeros), true);
  tail.setUint32(4, zeros.length, true);
  const head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
  return Uint8Array.from([...head, ...body, ...new Uint8Array(tail.buffer)]);
}
