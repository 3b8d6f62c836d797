/** The fetcher in this process, before sites on this machine. */
import type { LookupAddress } from "node:dns";
import { PageFetcher, type PageFetcherOptions } from "../../src/fetcher/page_fetcher.ts";
import { Reader } from "../../src/fetcher/reader.ts";
import { Refusal } from "../../src/fetcher/refusal.ts";
import { nodeTransport } from "../../src/platform/node_transport.ts";
import { isPublicAddress, publicLookup } from "../../src/platform/public_address.ts";

export interface Site {
  origin: string;
  port: number;
  /** The paths that were asked for. */
  asked: string[];
}

type Serve = (request: Request) => Response | Promise<Response>;

/** A site on this machine; without a word of its own it has no robots.txt. */
export async function withSite(serve: Serve, use: (site: Site) => Promise<void>): Promise<void> {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return serve(request);
  });
  try {
    await use({ origin: `http://127.0.0.1:${server.addr.port}`, port: server.addr.port, asked });
  } finally {
    await server.shutdown();
  }
}

/** The addresses of names in a test. Each lookup gets the next of the lists, and the last list is repeated. */
export type Names = Record<string, string[][]>;

export function resolverOf(names: Names) {
  const questions: string[] = [];
  const resolve = (
    name: string,
    _options: unknown,
    done: (error: Error | null, addresses: LookupAddress[]) => void,
  ) => {
    const count = questions.filter((other) => other === name).length;
    questions.push(name);
    const lists = names[name];
    const addresses = lists?.[Math.min(count, lists.length - 1)];
    setTimeout(() => {
      if (!addresses) return done(new Error("ENOTFOUND"), []);
      done(null, addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })));
    });
  };
  return { resolve, questions };
}

export interface Fetching {
  /** The page's text. */
  text(url: string, most?: number): Promise<string>;
  fetch: PageFetcher["fetch"];
  /** `ok` for a page, or why there was none. */
  codeOf(url: string, caller?: string): Promise<string>;
}

const forever = new AbortController().signal;

export async function withFetcher(
  { names = {}, ...options }: Partial<Omit<PageFetcherOptions, "outside" | "inside" | "reader">> & { names?: Names },
  use: (fetching: Fetching) => Promise<void>,
): Promise<void> {
  const { resolve } = resolverOf(names);
  const outside = nodeTransport({ lookup: publicLookup(resolve), mayReach: isPublicAddress });
  const inside = nodeTransport();
  // The memory of this process is that of other tests, too, and its machine may be slow.
  const reader = new Reader(() => {}, { pageMs: 60_000, memoryBytes: Infinity });
  const fetcher = new PageFetcher({
    allow: [],
    obeysRobots: false,
    now: Date.now,
    outside,
    inside,
    reader,
    ...options,
    limits: { pageMs: 120_000, ...options.limits },
  });
  try {
    await use({
      fetch: (...asked) => fetcher.fetch(...asked),
      text: async (url, most = 100_000) => (await fetcher.fetch(url, most, forever)).text,
      codeOf: (url, caller) => fetcher.fetch(url, 1_000, forever, caller).then(() => "ok", codeIn),
    });
  } finally {
    reader.close();
    outside.close();
    inside.close();
  }
}

export function codeIn(thrown: unknown): string {
  if (thrown instanceof Refusal) return thrown.code;
  throw thrown;
}

export function html(body: string, headers: Record<string, string> = {}): Response {
  return new Response(body, { headers: { "content-type": "text/html; charset=utf-8", ...headers } });
}
