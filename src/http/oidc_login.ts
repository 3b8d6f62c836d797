/** Login of operators at an OpenID Connect provider, by the authorization code flow with PKCE. */
import { jwtVerify } from "jose/jwt/verify";
import type { Config } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import { builtin } from "../util/builtin.ts";
import { abortAfter, settleWithin } from "../util/timeout.ts";
import { IssuerKeys, type IssuerKeysOptions } from "./issuer_keys.ts";
import { type Identity, identityIn, MOST_CHARACTERS, refusalOf } from "./oidc.ts";

type Oidc = NonNullable<Config["oidc"]>;
export type OidcClient = NonNullable<Oidc["console"]>;

export interface OidcLoginOptions extends Omit<IssuerKeysOptions, "issuer" | "jwksUrl" | "now"> {
  oidc: Oidc;
  client: OidcClient;
  /** The client's secret. Absent for a public client. */
  secret?: string;
  /** Posts a form and returns the JSON of the answer. Throws if there is none. */
  postForm(url: string, form: URLSearchParams, headers: Record<string, string>, signal: AbortSignal): Promise<unknown>;
  now(): number;
  monotonic(): number;
}

/** What the browser keeps between the two halves of a login. */
export interface LoginBegun {
  state: string;
  nonce: string;
  verifier: string;
}

/** The provider's endpoints. `end`: where a person ends the provider's session, if the provider supports it. */
interface Endpoints {
  authorization: string;
  token: string;
  end?: string;
}

const ANSWER_MS = 10_000;
/** How long the endpoints are cached. */
const KEPT_MS = 600_000;
/** How long a logout waits for them. */
const END_MS = 2_000;
const WORD_BYTES = 32;

export class OidcLogin {
  readonly #options: OidcLoginOptions;
  readonly #keys: IssuerKeys;
  #kept: { endpoints: Promise<Endpoints>; readAt: number } | undefined;

  constructor(options: OidcLoginOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys({ ...options, ...options.oidc, now: options.monotonic });
  }

  /** The URL to which to send the browser. Throws `unavailable` if the provider does not answer. */
  async begin(): Promise<{ url: string; begun: LoginBegun }> {
    const { client } = this.#options;
    const { authorization } = await this.#within(() => this.#endpoints());
    const begun = { state: newWord(), nonce: newWord(), verifier: newWord() };
    const url = new URL(authorization);
    const asked = {
      response_type: "code",
      client_id: client.clientId,
      redirect_uri: redirectOf(client),
      scope: client.scopes.join(" "),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: builtin("node:crypto").hash("sha256", begun.verifier, "base64url"),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    return { url: url.href, begun };
  }

  /**
   * The person who has logged in. Throws `authentication` and `unavailable`. No error contains anything from a token or from the
   * provider's answer.
   */
  async finish(query: URLSearchParams, { state, nonce, verifier }: LoginBegun): Promise<Identity> {
    const { oidc, client, now } = this.#options;
    if (query.get("state") !== state) refuse("The login was started in another window, or too long ago: try again");
    if (query.has("iss") && query.get("iss") !== oidc.issuer) refuse("The answer came from another provider");
    const code = query.get("code");
    if (query.has("error") || !code) refuse("The provider refused the login");
    const token = await this.#within((signal) => this.#exchange(code, verifier, signal));
    const { payload } = await jwtVerify(token, this.#keys.find, {
      issuer: oidc.issuer,
      audience: client.clientId,
      algorithms: oidc.algorithms,
      clockTolerance: oidc.clockToleranceMs / 1_000,
      currentDate: new Date(now()),
      requiredClaims: ["exp", "iat", "sub"],
    }).catch((thrown) => {
      throw refusalOf(thrown, { ...oidc, audience: [client.clientId] });
    });
    const isOurs = payload.nonce === nonce && (payload.azp === undefined || payload.azp === client.clientId);
    if (!isOurs) refuse("The provider's token belongs to another login");
    return identityIn(payload, oidc);
  }

  /**
   * The URL at which the browser ends its session at the provider. `undefined` if there is none or it cannot be determined. The
   * browser does not return from there, because a return URL must be registered at the provider, which otherwise shows an error.
   */
  async end(): Promise<string | undefined> {
    const { end } = await settleWithin(this.#endpoints().catch(() => undefined), END_MS) ?? {};
    if (end === undefined) return undefined;
    const url = new URL(end);
    url.searchParams.set("client_id", this.#options.client.clientId);
    return url.href;
  }

  async #exchange(code: string, verifier: string, signal: AbortSignal): Promise<string> {
    const { client, secret, postForm } = this.#options;
    const { token } = await this.#endpoints();
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectOf(client),
      code_verifier: verifier,
      ...(secret === undefined && { client_id: client.clientId }),
    });
    const basic: Record<string, string> = secret === undefined
      ? {}
      : { authorization: `Basic ${btoa(`${formed(client.clientId)}:${formed(secret)}`)}` };
    const { id_token: idToken } = Object(await postForm(token, form, basic, signal)) as Record<string, unknown>;
    if (typeof idToken !== "string") refuse("The provider gave no ID token: is openid among the scopes?");
    // The groups are stored with the session, in one record of the store.
    if (idToken.length > MOST_CHARACTERS) refuse(`The ID token is longer than ${MOST_CHARACTERS} characters`);
    return idToken;
  }

  /** Fetched once for all concurrent callers. A failure is not cached. */
  #endpoints(): Promise<Endpoints> {
    const { monotonic, signal } = this.#options;
    if (this.#kept && monotonic() - this.#kept.readAt < KEPT_MS) return this.#kept.endpoints;
    const late = () => new Error("The provider did not answer in time");
    const endpoints = abortAfter(ANSWER_MS, signal, (signal) => this.#discover(signal), late);
    const kept = this.#kept = { endpoints, readAt: monotonic() };
    endpoints.catch(() => {
      if (this.#kept === kept) this.#kept = undefined;
    });
    return endpoints;
  }

  /** A wrong endpoint would receive the code, so each must belong to the issuer or be configured. */
  async #discover(signal: AbortSignal): Promise<Endpoints> {
    const { oidc: { issuer }, client, fetchJson } = this.#options;
    const document = await fetchJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, signal);
    const found = Object(document) as Record<string, unknown>;
    if (found.issuer !== issuer) throw new Error("The discovery document belongs to another issuer");
    const authorization = placeFor(found.authorization_endpoint, issuer);
    if (authorization === undefined) throw new Error("The issuer's discovery document has no authorization endpoint");
    const token = client.tokenUrl ?? String(found.token_endpoint);
    if (client.tokenUrl === undefined && URL.parse(token)?.origin !== new URL(issuer).origin) {
      throw new Error(
        'The issuer\'s token endpoint has a different origin: set its URL in "oidc.console.tokenUrl"',
      );
    }
    return { authorization, token, end: placeFor(found.end_session_endpoint, issuer) };
  }

  async #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await abortAfter(
        ANSWER_MS,
        this.#options.signal,
        work,
        () => new Error("The provider did not answer in time"),
      );
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      throw new GatewayError("unavailable", "The provider cannot be reached: try again later", {
        cause,
        retryAfter: "5",
      });
    }
  }
}

/** An endpoint from the discovery document, if it is safe to send a browser there. Otherwise `undefined`. */
function placeFor(value: unknown, issuer: string): string | undefined {
  const url = URL.parse(String(value));
  const { origin, protocol } = new URL(issuer);
  const isSafe = url?.protocol === "https:" || protocol === "http:" && url?.origin === origin;
  return isSafe ? url!.href : undefined;
}

/** Where the provider sends the browser after the login. */
function redirectOf({ url }: OidcClient): string {
  return `${url.replace(/\/+$/, "")}/callback`;
}

function newWord(): string {
  return builtin("node:crypto").randomBytes(WORD_BYTES).toString("base64url");
}

/** Form encoding, which the header uses as well. */
function formed(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function refuse(message: string): never {
  throw new GatewayError("authentication", message);
}
