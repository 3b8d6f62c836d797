/** A form as `fetch` sends it, for transports that take bytes alone. */

/** The parts that are files stay where they are. */
export function toMultipart(form: FormData): Blob {
  const boundary = `----formdata-${crypto.randomUUID()}`;
  const pieces: (string | Blob)[] = [];
  for (const [name, value] of form) {
    const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(lines(name))}"`;
    if (typeof value === "string") pieces.push(`${disposition}\r\n\r\n${lines(value)}\r\n`);
    else {
      const type = value.type || "application/octet-stream";
      pieces.push(`${disposition}; filename="${escaped(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`, value, "\r\n");
    }
  }
  pieces.push(`--${boundary}--\r\n`);
  return new Blob(pieces, { type: `multipart/form-data; boundary=${boundary}` });
}

const ESCAPES: Readonly<Record<string, string>> = { "\n": "%0A", "\r": "%0D", '"': "%22" };

function escaped(name: string): string {
  return name.replace(/[\n\r"]/g, (found) => ESCAPES[found]!);
}

/** With the ends of lines that the format has. */
function lines(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\r\n");
}
