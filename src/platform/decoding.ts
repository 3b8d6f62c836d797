/** Decodes compressed answers. */
import type { Readable, Transform } from "node:stream";
import { createGunzip, createInflate, createInflateRaw } from "node:zlib";
import type { PushedBytes, Valve } from "./node_stream.ts";

/** The only coding that is requested. */
export const ACCEPTED_CODING = "gzip";

/** Without br and zstd, because Deno's decoders (2.9.6) do not report that such a body was cut off. */
const DECODERS: ReadonlyMap<string, (first: Uint8Array) => Transform> = new Map<
  string,
  (first: Uint8Array) => Transform
>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  // The standard means zlib's format, but raw deflate is common. Only a zlib header begins with method 8.
  ["deflate", (first) => (first[0]! & 0x0f) === 8 ? createInflate() : createInflateRaw()],
]);

/** Whether a body of that `content-encoding` is decoded. Others are passed on encoded, as `fetch` does. */
export function isDecoded(coding: string | undefined): coding is string {
  return coding !== undefined && DECODERS.has(coding.toLowerCase());
}

/** Decodes the data of `encoded` into `bytes`, no faster than it is read. */
export function decodeInto(bytes: PushedBytes, encoded: Readable, valve: Valve, coding: string): void {
  let decoder: Transform | undefined;
  encoded.on("data", (piece: Uint8Array) => {
    decoder ??= open(piece);
    if (decoder.write(piece)) return;
    valve.pause();
    decoder.once("drain", () => valve.resume());
  });
  encoded.once("end", () => decoder ? decoder.end() : bytes.finish());
  encoded.once("close", () => decoder?.writableEnded || decoder?.destroy());

  function open(first: Uint8Array): Transform {
    const opened = DECODERS.get(coding.toLowerCase())!(first);
    bytes.attach(opened, opened);
    opened.once("error", (reason) => {
      bytes.fail(reason);
      encoded.destroy();
    });
    return opened;
  }
}
