import { GatewayError } from "../errors.ts";

/** Refuses headers that no client needs, before anything looks at them; the platform's own limit is some 64 kB. */
export function checkHeaders(headers: Headers, mostBytes: number): void {
  let length = 0;
  // A third of what an iterator takes.
  headers.forEach((value, name) => length += name.length + value.length);
  if (length > mostBytes) throw new GatewayError("headers_too_large", `The headers are longer than ${mostBytes} bytes`);
}
