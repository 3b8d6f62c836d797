/** Fetches one page for a model as text, if it may be fetched, and within limits. */
import type { Page } from "../canonical/hosted.ts";
import { isDecoded } from "../platform/decoding.ts";
import { mayReachHost } from "../platform/guarded_agent.ts";
import { isPublicAddress } from "../platform/public_address.ts";
import { type Transport, TransportError, type TransportResponse } from "../platform/transport.ts";
import { ByteBuffer } from "../util/byte_reader.ts";
import { abortAfter } from "../util/timeout.ts";
import { contentTypeOf, decodeText, kindOf } from "./content.ts";
import { type Caller, FetchQueue, type QueueLimits } from "./fetch_queue.ts";
import type { Reader, ReadPage } from "./reader.ts";
import { Refusal } from "./refusal.ts";
import { AGENT, Robots, ROBOTS_BYTES, type RobotsFile } from "./robots.ts";

export interface PageFetcherOptions {
  /** The origins of internal hosts that may be fetched from, too. `*.` stands for all names below a domain. */
  allow: readonly string[];
  /** Whether robots.txt is obeyed. */
  obeysRobots: boolean;
  /** Connects to public addresses only. */
  outside: Transport;
  /** Connects to internal addresses, too. */
  inside: Transport;
  reader: Reader;
  /** Milliseconds since the epoch. */
  now(): number;
  limits?: Partial<FetchLimits>;
}

export type FetchedPage = Page & Pick<ReadPage, "isSpoiling">;

export interface FetchLimits extends QueueLimits {
  /** How long one page may take, in milliseconds, from the first request to the text. */
  pageMs: number;
  /** The longest answer, decompressed, in bytes. */
  bytes: number;
  redirects: number;
}

const LIMITS: FetchLimits = { pageMs: 30_000, bytes: 10 * 2 ** 20, redirects: 5, inAll: 32, atHost: 2 };
/** How long a site's robots.txt may take, in milliseconds. */
const ROBOTS_MS = 10_000;

const ACCEPT = "text/markdown, text/html;q=0.9, application/pdf;q=0.8, text/plain;q=0.8, */*;q=0.1";

export class PageFetcher {
  readonly #options: PageFetcherOptions;
  readonly #limits: FetchLimits;
  readonly #queue: FetchQueue;
  readonly #robots: Robots;

  constructor(options: PageFetcherOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#queue = new FetchQueue(this.#limits);
    this.#robots = new Robots((origin) => this.#robotsOf(origin), options.now);
  }

  /** `most`: the limit on the text, in characters. Throws a `Refusal`, or the reason of `signal`. */
  async fetch(url: string, most: number, signal: AbortSignal, caller?: Caller): Promise<FetchedPage> {
    const place = addressOf(url, this.#options.allow);
    const late = () => new Refusal("not_accessible", "The page took too long");
    return await this.#queue.run(
      caller,
      () => abortAfter(this.#limits.pageMs, signal, (signal) => this.#fetch(place, most, signal, caller), late),
    );
  }

  async #fetch(place: Address, most: number, signal: AbortSignal, caller: Caller): Promise<FetchedPage> {
    for (let hops = 0; hops <= this.#limits.redirects; hops++) {
      if (this.#options.obeysRobots) await this.#askRobots(place.url);
      const found = await this.#queue.at(place.url.host, caller, signal, async () => {
        const response = await this.#send(place, signal);
        return redirectOf(response) ?? await this.#take(response);
      });
      if (typeof found !== "string") return await this.#read(found, place.url, most, signal, caller);
      place = addressOf(found, this.#options.allow, place.url);
    }
    throw new Refusal("not_accessible", "There are too many redirects");
  }

  async #askRobots(url: URL): Promise<void> {
    const isPermitted = await this.#robots.permits(url);
    if (isPermitted) return;
    if (isPermitted === undefined) throw new Refusal("not_accessible", "The site cannot be reached");
    throw new Refusal("not_allowed", "The site's robots.txt asks programs not to fetch this page");
  }

  async #send({ url, isListed }: Address, signal: AbortSignal): Promise<TransportResponse> {
    const { inside, outside } = this.#options;
    const headers = { "user-agent": AGENT, accept: ACCEPT };
    try {
      return await (isListed ? inside : outside).send({ url: url.href, method: "GET", headers, signal });
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof TransportError)) throw thrown;
      // An unknown name and a name of the internal network look the same, so that a page learns nothing from the error.
      throw new Refusal("not_accessible", "The page cannot be reached", { cause: thrown });
    }
  }

  async #take(response: TransportResponse): Promise<Taken> {
    const { status, ok, headers } = response;
    const coding = headers.get("content-encoding");
    if (!ok || (coding && coding !== "identity" && !isDecoded(coding))) {
      await response.body?.cancel();
      if (status === 429) throw new Refusal("too_many_requests", "The site refuses further requests for now");
      if (!ok) throw new Refusal("not_accessible", `The site answered with status ${status}`);
      throw new Refusal("unsupported_type", "The page has an unknown content encoding");
    }
    const { bytes, isWhole } = await readUpTo(response, this.#limits.bytes);
    if (!isWhole) throw new Refusal("too_large", `The page is longer than ${this.#limits.bytes} bytes`);
    return { bytes, type: headers.get("content-type") };
  }

  async #read(
    { bytes, type }: Taken,
    url: URL,
    most: number,
    signal: AbortSignal,
    caller: Caller,
  ): Promise<FetchedPage> {
    const { mediaType, charset } = contentTypeOf(type);
    const kind = kindOf(mediaType, bytes);
    if (!kind) throw new Refusal("unsupported_type", `Pages of type "${mediaType}" cannot be read`);
    const page: ReadPage = kind === "text"
      ? { text: decodeText(bytes, charset, kind) }
      : await this.#options.reader.read({ kind, bytes, charset, url: url.href, most }, signal, caller);
    return {
      url: url.href,
      ...(page.title && { title: page.title }),
      text: cut(page.text, most),
      mediaType: MEDIA_TYPES[kind] ?? mediaType,
      retrievedAt: new Date(this.#options.now()).toISOString(),
      ...(page.isSpoiling && { isSpoiling: true }),
    };
  }

  async #robotsOf(origin: string): Promise<RobotsFile> {
    try {
      return await abortAfter(ROBOTS_MS, new AbortController().signal, async (signal) => {
        let place = addressOf("/robots.txt", this.#options.allow, new URL(origin));
        for (let hops = 0; hops <= this.#limits.redirects; hops++) {
          const response = await this.#send(place, signal);
          const target = redirectOf(response);
          if (target === undefined) return await robotsIn(response);
          place = addressOf(target, this.#options.allow, place.url);
        }
        return "none";
      }, () => new Error("The file took too long"));
    } catch {
      return "unreachable";
    }
  }
}

interface Taken {
  bytes: Uint8Array;
  type: string | null;
}

/** The media type that the text of a page is reported as, if it is not the page's own. */
const MEDIA_TYPES: Readonly<Record<string, string>> = { html: "text/markdown", pdf: "application/pdf" };

/** The target of a redirect, whose body is not read. */
function redirectOf({ status, headers, body }: TransportResponse): string | undefined {
  const target = [301, 302, 303, 307, 308].includes(status) ? headers.get("location") : null;
  if (target === null) return undefined;
  void body?.cancel();
  return target;
}

async function robotsIn(response: TransportResponse): Promise<RobotsFile> {
  if (response.ok) return { text: decodeText((await readUpTo(response, ROBOTS_BYTES)).bytes, "utf-8", "text") };
  await response.body?.cancel();
  return response.status >= 400 && response.status < 500 ? "none" : "unreachable";
}

/** The first bytes, and whether that is all of them. */
async function readUpTo({ body }: TransportResponse, most: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
  const buffer = new ByteBuffer(0, most);
  if (!body) return { bytes: buffer.take(), isWhole: true };
  for (;;) {
    const piece = await body.read().catch((cause) => {
      throw cause instanceof Refusal ? cause : new Refusal("not_accessible", "The page broke off", { cause });
    });
    if (!piece) return { bytes: buffer.take(), isWhole: true };
    const room = most - buffer.length;
    buffer.append(piece.subarray(0, room));
    if (piece.length <= room) continue;
    await body.cancel();
    return { bytes: buffer.take(), isWhole: false };
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}\n\n[The page goes on.]`;
}

/** A URL that may be fetched. */
interface Address {
  url: URL;
  /** Whether the configuration lists it, so that it may be on the internal network. */
  isListed: boolean;
}

const MOST_CHARACTERS = 2_000;

/**
 * Decides from a URL whether it may be fetched. The host's IP addresses are checked when the connection is made.
 * `allow`: origins of internal hosts. `*.` stands for all names below a domain. Throws a `Refusal`.
 */
function addressOf(text: string, allow: readonly string[], base?: URL): Address {
  if (text.length > MOST_CHARACTERS) throw new Refusal("too_long", "The URL is too long");
  const url = URL.parse(text, base);
  if (!url) throw new Refusal("invalid_input", "This is no URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Refusal("invalid_input", `There are no pages at ${url.protocol}`);
  }
  if (url.username + url.password !== "") throw new Refusal("not_allowed", "The URL holds a name or a password");
  url.hash = "";
  if (isListed(url, allow)) return { url, isListed: true };
  // This refuses the other protocol's default port, too: it is just as suspicious.
  if (url.port !== "") throw new Refusal("not_allowed", `Port ${url.port} is not allowed`);
  if (!mayReachHost(url.hostname, isPublicAddress)) throw new Refusal("not_allowed", "The address is not public");
  return { url, isListed: false };
}

function isListed({ protocol, host }: URL, allow: readonly string[]): boolean {
  return allow.some((pattern) => {
    const listed = URL.parse(pattern);
    if (listed?.protocol !== protocol) return false;
    return listed.host.startsWith("*.") ? host.endsWith(listed.host.slice(1)) : host === listed.host;
  });
}
