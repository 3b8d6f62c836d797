/** Answers that come compressed. */
import type { Readable, Transform } from "node:stream";
import { createGunzip, createInflate, createInflateRaw } from "node:zlib";
import type { PushedBytes, Valve } from "./node_stream.ts";

/** The one coding that is asked for. */
export const ACCEPTED_CODING = "gzip";

/** Not br and zstd: of what is cut off inside such a body, Deno's decoders (2.9.6) report nothing. */
const DECODERS: ReadonlyMap<string, (first: Uint8Array) => Transform> = new Map<
  string,
  (first: Uint8Array) => Transform
>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  // zlib's format by the standard and raw deflate by habit; only a zlib header begins with method 8.
  ["deflate", (first) => (first[0]! & 0x0f) === 8 ? createInflate() : createInflateRaw()],
]);

/** Whether a body of that `content-encoding` is decoded. Other ones are given as they come, as `fetch` does. */
export function isDecoded(coding: string | undefined): coding is string {
  return coding !== undefined && DECODERS.has(coding.toLowerCase());
}

/** Decodes what `encoded` brings into `bytes`, no faster than it is read. */
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
