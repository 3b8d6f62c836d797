/** Runs hosted tools for models whose servers do not. */
import { digestOf } from "../util/digest.ts";
import type { Tool } from "../canonical/generate.ts";
import type {
  FetchWork,
  HostedCall,
  HostedResult,
  HostedWork,
  MadeFile,
  RemoteWork,
  SearchWork,
} from "../canonical/hosted.ts";
import { GatewayError } from "../errors.ts";
import type { Callee } from "../upstream/send.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { abortAfter } from "../util/timeout.ts";
import { isWithin, plainDomains } from "./domains.ts";
import { RemoteServer, type RemoteServerOptions } from "./mcp.ts";
import type { Permissions, PermissionsOf } from "./mcp_permissions.ts";
import { search, type SearchOptions } from "./search.ts";

/** Runs hosted tools. */
export interface HostedRunner {
  /** Whether this gateway can run this kind of tool. */
  runs(work: HostedWork): boolean;
  /** Which tools of a remote server a key may call. */
  permissions(...args: Parameters<PermissionsOf>): Permissions | Promise<Permissions>;
  /**
   * When a container of the caller's expires, in milliseconds since the epoch. `undefined` if the caller has no such
   * container. Throws if the interpreter cannot be asked.
   */
  expiryOf(container: string, owner: string, signal: AbortSignal): Promise<number | undefined>;
  /** Runs a call. A failure is a result. It throws only if `signal` is aborted. */
  run(call: HostedCall, work: HostedWork, facts: CallFacts): Promise<HostedResult>;
  /** Ends what remote servers hold for it, once no call runs. */
  close(): Promise<void>;
}

/** The facts of the request that a call needs. */
export interface CallFacts {
  /** The name of the caller's key. */
  key: string;
  /** The caller whose share of limited resources the call uses. Absent if the gateway has only one caller. */
  owner?: string;
  signal: AbortSignal;
  /** Takes the reason of a failure, which is for the log only. */
  onFailure(reason: unknown): void;
  /** Whether the conversation has named this URL. No other URL is opened, so that the model cannot send data to a page in a URL. */
  isNamed(url: string): boolean;
  /** The request's tools, for a search among them. */
  tools?: readonly Tool[];
  /** The container of code that runs, and the files of the caller. */
  code?: CodePlace;
}

/** The container for the code of one answer. */
export interface CodePlace {
  /** Whether the container may be made now. Otherwise one that is not there has expired. */
  isNew: boolean;
  /** Whether files that are in it stay as they are. */
  onlyMissing: boolean;
  /** Runs one execution after the other. Each gets the caller's files, unless the one before it has left them in the container. */
  inTurn(execute: (files: readonly NamedContent[]) => Promise<HostedResult>): Promise<HostedResult>;
  /** Stores files that code has made. What cannot be stored is left out, and `say` is informed. */
  keep(files: readonly NamedContent[], say: (text: string) => void): Promise<MadeFile[]>;
}

export interface NamedContent {
  name: string;
  /** Base64. */
  data: string;
}

/** Runs code. A failure is a result. It throws only if `signal` is aborted. */
export interface Interpreter {
  run(call: HostedCall & { kind: "code" }, facts: CallFacts): Promise<HostedResult>;
  expiryOf: HostedRunner["expiryOf"];
}

/** Opens one page. A failure is a result. It throws only if `signal` is aborted. */
export type OpenPage = (
  url: string,
  limits: { maxTokens?: number },
  facts: Pick<CallFacts, "signal" | "onFailure" | "owner">,
) => Promise<HostedResult>;

/** A configured server. */
export interface ConfiguredServer {
  service: Callee;
  path: string;
}

export interface HostedRunnerOptions extends Pick<RemoteServerOptions, "maskerFor" | "now"> {
  search?: SearchOptions;
  openPage?: OpenPage;
  interpreter?: Interpreter;
  /** The server by whose tool it searches. */
  searchServer?: RemoteServer;
  /** The servers by the names that requests use. */
  servers: ReadonlyMap<string, ConfiguredServer>;
  /** How to reach a server that a request names. Absent if the configuration does not allow its URL. */
  serverAt(url: string): ConfiguredServer | undefined;
  /** How long one call of a remote tool may take, in milliseconds. */
  callMs: number;
  permissions: PermissionsOf;
}

/** The longest URL, which is about as long as browsers accept. */
const URL_CHARACTERS = 2_000;
/** How many servers are remembered. */
const SERVERS = 1_000;

export function createHostedRunner(options: HostedRunnerOptions): Omit<HostedRunner, "runs"> {
  return new Runner(options);
}

class Runner implements Omit<HostedRunner, "runs"> {
  readonly #options: HostedRunnerOptions;
  readonly #remote = new BoundedMap<string, RemoteServer>(SERVERS);
  #running = 0;
  #isClosed = false;

  constructor(options: HostedRunnerOptions) {
    this.#options = options;
  }

  permissions(...[work, key]: Parameters<PermissionsOf>): Permissions {
    return this.#options.permissions(work, key);
  }

  async expiryOf(...args: Parameters<HostedRunner["expiryOf"]>): Promise<number | undefined> {
    return await this.#options.interpreter?.expiryOf(...args);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const { searchServer } = this.#options;
    const servers = [...this.#remote.values(), ...searchServer ? [searchServer] : []];
    if (this.#running === 0) await Promise.all(servers.map((server) => server.end()));
  }

  async run(...args: Parameters<HostedRunner["run"]>): Promise<HostedResult> {
    this.#running++;
    try {
      return await this.#run(...args);
    } finally {
      this.#running--;
      // Requests that began before a change of the configuration may still make calls.
      if (this.#isClosed) void this.close();
    }
  }

  async #run(call: HostedCall, work: HostedWork, facts: CallFacts): Promise<HostedResult> {
    switch (call.kind) {
      case "web-search":
        return await this.#search(call.query, work, facts);
      case "web-fetch":
        return await this.#open(call.url, work, facts);
      case "find-in-page":
        return matchesIn(await this.#open(call.url, work, facts), call.pattern);
      case "code":
        return await this.#options.interpreter?.run(call, facts) ?? { kind: "error", code: "unavailable" };
      case "mcp-list":
        return await this.#askRemote(work, facts, ({ some }) => some, async (server, signal, { of }) => ({
          kind: "tools",
          tools: (await server.list(signal)).filter(({ name }) => of(name) !== "no"),
        }));
      case "mcp":
        return await this.#askRemote(
          work,
          facts,
          ({ of }) => of(call.name) !== "no",
          (server, signal) => server.call(call.name, call.input, signal),
        );
      case "tool-search":
        return await (await import("./tool_search.ts")).searchTools(call, facts.tools ?? [], facts.signal);
      // Another model draws it: `src/inference/draw_tool.ts`.
      case "image":
        return { kind: "error", code: "unavailable" };
      default:
        return call satisfies never;
    }
  }

  async #search(query: string, work: HostedWork, { signal, onFailure }: CallFacts): Promise<HostedResult> {
    const { search: options } = this.#options;
    if (work.kind !== "web-search" || !options) return { kind: "error", code: "unavailable" };
    return await search(query, work, options, signal, onFailure);
  }

  async #open(url: string, work: HostedWork, facts: CallFacts): Promise<HostedResult> {
    if (work.kind !== "web-search" && work.kind !== "web-fetch" || !this.#options.openPage) {
      return { kind: "error", code: "unavailable" };
    }
    const limits = work.kind === "web-fetch" ? work : {};
    const refused = refusalOf(url, work, facts);
    if (refused) return refused;
    const opened = await this.#options.openPage(url, limits, facts);
    // A redirect must not lead to a domain that the request does not allow.
    const isOutside = opened.kind === "page" && !isWithin(opened.page.url, work.domains);
    return isOutside ? { kind: "error", code: "not_allowed" } : opened;
  }

  async #askRemote(
    work: HostedWork,
    { key, signal, onFailure }: CallFacts,
    isAllowed: (permissions: Permissions) => boolean,
    ask: (server: RemoteServer, signal: AbortSignal, permissions: Permissions) => Promise<HostedResult>,
  ): Promise<HostedResult> {
    if (work.kind !== "mcp") return { kind: "error", code: "not_allowed" };
    const { callMs } = this.#options;
    const permissions = this.#options.permissions(work, key);
    const server = isAllowed(permissions) ? this.#serverOf(work) : undefined;
    if (!server) return { kind: "error", code: "not_allowed" };
    const late = () => new GatewayError("upstream_timeout", `The server did not answer within ${callMs} ms`);
    try {
      return await abortAfter(callMs, signal, (signal) => ask(server, signal, permissions), late);
    } catch (reason) {
      signal.throwIfAborted();
      onFailure(reason);
      return { kind: "error", code: "unavailable" };
    }
  }

  /** Callers share a server only if their credentials are the same, so that no caller learns of another's tools. */
  #serverOf(work: RemoteWork): RemoteServer | undefined {
    const place = placeOf(work, this.#options);
    if (!place) return undefined;
    const { now, maskerFor } = this.#options;
    const { server: label, url, token, headers } = work;
    const key = digestOf(JSON.stringify([label, url, token, headers]));
    const server = this.#remote.get(key) ?? new RemoteServer({ ...place, now, maskerFor });
    this.#remote.set(key, server);
    return server;
  }
}

function placeOf(
  { server, url, token, headers }: RemoteWork,
  options: HostedRunnerOptions,
): ConfiguredServer | undefined {
  // A configured server gets the configured secret, and nothing from the request.
  if (url === undefined) return options.servers.get(server);
  const place = options.serverAt(url);
  return place && {
    ...place,
    service: { ...place.service, headers: ownHeaders(headers), ...(token !== undefined && { secret: token }) },
  };
}

/** The headers that a request may add: none for routing, framing or the protocol itself. */
function ownHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !NOT_ITS_OWN.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    ),
  );
}

const NOT_ITS_OWN =
  /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|cookie|content-.*|accept|accept-encoding|forwarded|x-forwarded-.*|proxy-.*|mcp-.*|last-event-id)$/i;

function refusalOf(
  url: string,
  { domains }: SearchWork | FetchWork,
  { isNamed }: CallFacts,
): HostedResult | undefined {
  if (url.length > URL_CHARACTERS) return { kind: "error", code: "too_long" };
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== "http:" && protocol !== "https:") return { kind: "error", code: "invalid_input" };
  if (!plainDomains(domains)) return { kind: "error", code: "invalid_input" };
  if (!isWithin(url, domains)) return { kind: "error", code: "not_allowed" };
  return isNamed(url) ? undefined : { kind: "error", code: "not_in_conversation" };
}

/** How many matches are shown, and how much text around each, in characters. */
const MATCHES = 10;
const AROUND = 300;

/** The matches of the text in a page. */
function matchesIn(opened: HostedResult, pattern: string): HostedResult {
  if (opened.kind !== "page") return opened;
  const { text } = opened.page;
  const [inText, wanted] = [text.toLowerCase(), pattern.toLowerCase()];
  const matches: string[] = [];
  for (let at = inText.indexOf(wanted); at >= 0 && matches.length < MATCHES; at = inText.indexOf(wanted, at + AROUND)) {
    matches.push(text.slice(Math.max(0, at - AROUND), at + wanted.length + AROUND).toWellFormed());
  }
  const found = matches.length === 0 ? "The page does not contain this text." : matches.join("\n\n…\n\n");
  return { kind: "page", page: { ...opened.page, text: found } };
}
