/** Pages that are identical for all clients. They are sent compressed, and as a 304 to a client that already has them. */
import { eTag, ifNoneMatch } from "../std/http/etag.ts";
import { builtin, hasBuiltin } from "../util/builtin.ts";
import { beginningOf, preferredCoding } from "./negotiation.ts";

export interface Page {
  text: string;
  headers: Readonly<Record<string, string>>;
}

/** Answers a request for a page. */
export type KeptPage = (request: Request) => Promise<Response>;

/** The content-codings in which a page can be sent. */
const ENCODE = { br, gzip, identity };
type Coding = keyof typeof ENCODE;

/** The tag and each encoded form of the page are computed at the first request for them, and cached. */
export function keepPage({ text, headers: { "content-type": type, ...headers } }: Page): KeptPage {
  const made: { [coding in Coding]?: Promise<Uint8Array<ArrayBuffer>> } = {};
  let tag: Promise<string> | undefined;
  /** A page that could not be encoded once is encoded again for the next client. */
  const encoded = (coding: Coding) =>
    made[coding] ??= ENCODE[coding](text).catch((error) => {
      delete made[coding];
      throw error;
    });
  return async ({ headers: asked }) => {
    // The tag is weak because it identifies the text, which is sent in several codings.
    const etag = await (tag ??= eTag(text, { weak: true }));
    const common = { ...headers, etag, "cache-control": "no-cache", vary: "accept-encoding" };
    const has = beginningOf(asked, "if-none-match");
    if (!ifNoneMatch(has, etag)) return new Response(null, { status: 304, headers: common });
    const coding = (hasBuiltin("node:zlib") && preferredCoding(asked, "br", "gzip")) || "identity";
    const bytes = await encoded(coding);
    return new Response(bytes, {
      headers: {
        ...common,
        "content-type": type!,
        // The answer to HEAD needs it, because it has no body whose length could be counted.
        "content-length": String(bytes.length),
        ...(coding !== "identity" && { "content-encoding": coding }),
      },
    });
  };
}

function identity(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return Promise.resolve(new TextEncoder().encode(text));
}

/** The best quality (11) takes 70 times as long and saves one seventh of the bytes. */
const BROTLI_QUALITY = 5;

async function br(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const { brotliCompress, constants } = builtin("node:zlib");
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  return new Uint8Array(await builtin("node:util").promisify(brotliCompress)(text, { params }));
}

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const { gzip } = builtin("node:zlib");
  return new Uint8Array(await builtin("node:util").promisify(gzip)(text));
}
