/** Transports and their answers, for tests. */
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import type { ByteSource, Transport, TransportResponse } from "../../src/platform/transport.ts";
import { ByteReader } from "../../src/util/byte_reader.ts";

/** Fails every call: for what makes none. */
export const NO_TRANSPORT: Transport = fetchTransport(() => Promise.reject(new TypeError("This test has no upstream")));

/** A body as a transport gives it. */
export function sourceOfBytes(body: ReadableStream<Uint8Array>): ByteSource {
  return new ByteReader(body, 8 * 1024);
}

/** The rest of an answer's body, as text. */
export async function textOf({ body }: TransportResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = await body?.read(); bytes; bytes = await body?.read()) {
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}
