import { GatewayError } from "../errors.ts";

const LONGEST = 32 * 1024;

/** Refuses headers that no client needs, before anything looks at them; the platform's own limit is twice as high. */
export function checkHeaders(headers: Headers): void {
  let length = 0;
  for (const [name, value] of headers) length += name.length + value.length;
  if (length > LONGEST) {
    throw new GatewayError("headers_too_large", `The headers are longer than ${LONGEST / 1024} kB`);
  }
}
