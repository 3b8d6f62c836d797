/** The public keys of a token issuer, as they are now. */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { GatewayError } from "../errors.ts";
import { abortAfter } from "../util/timeout.ts";

export interface IssuerKeysOptions {
  issuer: string;
  /** Where the keys are; discovery finds it where absent. */
  jwksUrl?: string;
  /** The JSON at a URL. Throws where there is none. */
  fetchJson(url: string, signal: AbortSignal): Promise<unknown>;
  /** Milliseconds by a clock that never steps. */
  now(): number;
  /** Aborted when the gateway stops. */
  signal: AbortSignal;
}

/** How old keys may be before they are read again, while nobody waits. */
const FRESH_MS = 300_000;
/** How old they may get while the issuer does not answer. */
const USABLE_MS = 86_400_000;
/** How long after an attempt to read them there is no other: tokens with keys that nobody knows are easily made. */
const COOL_DOWN_MS = 10_000;
/** How long an attempt may take. */
const FETCH_MS = 5_000;

interface KeySet {
  /** What it was made from. */
  json: string;
  find: ReturnType<typeof createLocalJWKSet>;
}

/** Reads the keys at the first need, again when they are old, and at once for a token whose key is not among them. */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #known: KeySet | undefined;
  #readAt = -Infinity;
  #triedAt = -Infinity;
  #failure: unknown;
  #reading: Promise<void> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The keys as they are known, which change when the issuer's do. Old ones are read again meanwhile. */
  current(): object | undefined {
    const age = this.#options.now() - this.#readAt;
    if (age >= USABLE_MS) this.#known = undefined;
    if (this.#known && age >= FRESH_MS) void this.#read();
    return this.#known;
  }

  /** Reads the keys. Resolves to why they cannot be read; to nothing where they can. */
  async open(): Promise<unknown> {
    await this.#read();
    return this.#failure;
  }

  /** The key that a token names. Throws `authentication` where there is none, `unavailable` where the issuer does not answer. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const keys = this.#known;
    const found = await keys?.find(header, token).catch(noneMatches);
    if (found) return found;
    await this.#read();
    const later = this.#known !== keys && await this.#known?.find(header, token).catch(noneMatches);
    if (later) return later;
    if (this.#failure !== undefined) throw this.#unavailable();
    throw new GatewayError("authentication", "The token is signed with a key that its issuer does not list");
  };

  #unavailable(): GatewayError {
    const waitMs = Math.max(0, this.#triedAt + COOL_DOWN_MS - this.#options.now());
    const message = "The gateway cannot check the token, because its issuer's keys cannot be read: try again later";
    return new GatewayError("unavailable", message, {
      cause: this.#failure,
      retryAfter: String(Math.max(1, Math.ceil(waitMs / 1_000))),
    });
  }

  /** Resolves once the keys are read, or have failed to be. One attempt at a time, and none in the cool-down after it. */
  #read(): Promise<void> {
    const { now, signal } = this.#options;
    if (!this.#reading && now() - this.#triedAt >= COOL_DOWN_MS) {
      this.#triedAt = now();
      const late = () => new Error(`The issuer did not answer within ${FETCH_MS} ms`);
      this.#reading = abortAfter(FETCH_MS, signal, (signal) => this.#fetch(signal), late)
        .then(() => this.#failure = undefined, (failure) => this.#failure = failure)
        .then(() => this.#reading = undefined);
    }
    return this.#reading ?? Promise.resolve();
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const { fetchJson, jwksUrl, now } = this.#options;
    const set = await fetchJson(jwksUrl ?? await this.#discover(signal), signal);
    const json = JSON.stringify(set);
    signal.throwIfAborted();
    // Whoever holds what these keys have proved goes on holding it while they are the same.
    if (json !== this.#known?.json) this.#known = { json, find: createLocalJWKSet(set as never) };
    this.#readAt = now();
  }

  async #discover(signal: AbortSignal): Promise<string> {
    const { issuer, fetchJson } = this.#options;
    const document = await fetchJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, signal);
    const { issuer: named, jwks_uri: place } = Object(document) as Record<string, unknown>;
    if (named !== issuer) throw new Error("The discovery document belongs to another issuer");
    if (URL.parse(String(place))?.origin !== new URL(issuer).origin) {
      throw new Error('The issuer\'s keys have a different origin than the issuer: set their URL in "oidc.jwksUrl"');
    }
    return String(place);
  }
}

function noneMatches(thrown: unknown): undefined {
  if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
}
