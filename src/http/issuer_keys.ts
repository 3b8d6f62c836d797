/** The current public keys of a token issuer. */
import { JWKSNoMatchingKey } from "jose/errors";
import { createLocalJWKSet } from "jose/jwks/local";
import type { JWTVerifyGetKey } from "jose/jwt/verify";
import { GatewayError } from "../errors.ts";
import { abortAfter } from "../util/timeout.ts";

export interface IssuerKeysOptions {
  issuer: string;
  /** The URL of the keys. If absent, discovery finds it. */
  jwksUrl?: string;
  /** Fetches JSON from a URL. Throws if there is none. */
  fetchJson(url: string, signal: AbortSignal): Promise<unknown>;
  /** Milliseconds by a monotonic clock. */
  now(): number;
  /** Aborted when the gateway stops. */
  signal: AbortSignal;
}

/** Older keys are read again in the background. */
const FRESH_MS = 300_000;
/** How old keys may become while the issuer does not answer. */
const USABLE_MS = 86_400_000;
/** The minimum time between two attempts to read the keys, because tokens with unknown keys are easy to make. */
const COOL_DOWN_MS = 10_000;
/** The time limit of an attempt. */
const FETCH_MS = 5_000;

interface KeySet {
  /** The JSON that the set was made from. */
  json: string;
  find: ReturnType<typeof createLocalJWKSet>;
}

/** Reads the keys on first use, again when they are old, and immediately for a token whose key is not among them. */
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

  /**
   * The keys that are currently known, as an object that changes only when the issuer's keys do. Old keys are refreshed in the
   * background.
   */
  current(): object | undefined {
    const age = this.#options.now() - this.#readAt;
    if (age >= USABLE_MS) this.#known = undefined;
    if (this.#known && age >= FRESH_MS) void this.#read();
    return this.#known;
  }

  /** Reads the keys. Resolves to the failure, or to `undefined` on success. */
  async open(): Promise<unknown> {
    await this.#read();
    return this.#failure;
  }

  /** The key that a token names. Throws `authentication` if there is none, and `unavailable` if the issuer does not answer. */
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

  /**
   * Resolves once the attempt has succeeded or failed. Only one attempt runs at a time, and none during the cool-down after it.
   */
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
    // Cached checks of tokens stay valid while the keys are the same.
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
  if (!(thrown instanceof JWKSNoMatchingKey)) throw thrown;
}
