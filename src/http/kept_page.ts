/** Pages that are the same for everybody: sent compressed, and not at all to whoever has them. */
import { eTag, ifNoneMatch } from "../std/http/etag.ts";
import { builtin } from "../util/builtin.ts";
import { beginningOf, preferredCoding } from "./negotiation.ts";

export interface Page {
  text: string;
  headers: Readonly<Record<string, string>>;
}

/** Answers a request for a page. */
export type KeptPage = (request: Request) => Promise<Response>;

/** What a page can be sent as. */
const ENCODE = { br, gzip, identity };
type Coding = keyof typeof ENCODE;

/** Whatever is made of the page is made when it is first asked for, and kept. */
export function keepPage({ text, headers: { "content-type": type, ...headers } }: Page): KeptPage {
  const made: { [coding in Coding]?: Promise<Uint8Array<ArrayBuffer>> } = {};
  let tag: Promise<string> | undefined;
  return async ({ headers: asked }) => {
    // Weak, because it is that of the text, whichever bytes it is sent as.
    const etag = await (tag ??= eTag(text, { weak: true }));
    const common = { ...headers, etag, "cache-control": "no-cache", vary: "accept-encoding" };
    const has = beginningOf(asked, "if-none-match");
    if (!ifNoneMatch(has, etag)) return new Response(null, { status: 304, headers: common });
    const coding = preferredCoding(asked, "br", "gzip") ?? "identity";
    const bytes = await (made[coding] ??= ENCODE[coding](text));
    return new Response(bytes, {
      headers: {
        ...common,
        "content-type": type!,
        // For the answer to HEAD, which has no body to be measured.
        "content-length": String(bytes.length),
        ...(coding !== "identity" && { "content-encoding": coding }),
      },
    });
  };
}

function identity(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return Promise.resolve(new TextEncoder().encode(text));
}

/** The best quality (11) takes 70 times as long, and saves a seventh. */
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
