/** Logs operators in at an OpenID Connect provider, by the authorization code flow with PKCE. */
import type { JWTPayload } from "jose";
import { jwtVerify } from "jose/jwt/verify";
import * as oauth from "oauth4webapi";
import type { Config } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import { Slots } from "../util/shares.ts";
import { abortAfter, settleWithin } from "../util/timeout.ts";
import { IssuerKeys, type IssuerKeysOptions } from "./issuer_keys.ts";
import { type Identity, identityIn, MOST_CHARACTERS, refusalOf } from "./oidc.ts";
import { clientAuthOf } from "./oidc_client_auth.ts";

type Oidc = NonNullable<Config["oidc"]>;
export type OidcClient = NonNullable<Oidc["console"]>;

export interface OidcLoginOptions extends Omit<IssuerKeysOptions, "issuer" | "jwksUrl" | "now"> {
  oidc: Oidc;
  client: OidcClient;
  /** The client's secret. Absent for a public client, and empty if its variable is not set. */
  secret?: string;
  /** Limits the size of the answer, follows no redirects, and throws unless the provider answers with success. */
  fetch: ProviderFetch;
  now(): number;
  monotonic(): number;
}

export type ProviderFetch = (url: string, init: oauth.CustomFetchOptions<string, unknown>) => Promise<Response>;

/** The values that the browser keeps from the beginning of a login to its end. */
export interface LoginBegun {
  state: string;
  nonce: string;
  verifier: string;
}

/** The provider's own metadata. A person ends the provider's session at `end`, if the provider supports it. */
interface Provider {
  server: oauth.AuthorizationServer;
  authorization: string;
  end?: string;
}

const ANSWER_MS = 10_000;
/** How long the endpoints are cached. */
const KEPT_MS = 600_000;
/** How long a logout waits for the endpoints. */
const END_MS = 2_000;
/** How many codes are exchanged at once. Anybody can bring one, and a provider locks out a client that brings too many bad ones. */
const MOST_EXCHANGES = 20;
const OTHER_LOGIN = "The provider's token belongs to another login";

export class OidcLogin {
  readonly #options: OidcLoginOptions;
  readonly #keys: IssuerKeys;
  #kept: { provider: Promise<Provider>; readAt: number } | undefined;
  readonly #exchanges = new Slots(MOST_EXCHANGES);
  /** Made once, because anybody can come back from a login that never began, and to read a private key takes a millisecond. */
  #auth: Promise<oauth.ClientAuth> | undefined;

  constructor(options: OidcLoginOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys({ ...options, ...options.oidc, now: options.monotonic });
  }

  /** Begins a login: the browser must be sent to `url`. Throws `unavailable` if the provider does not answer. */
  async begin(): Promise<{ url: string; begun: LoginBegun }> {
    const { client } = this.#options;
    const { authorization } = await this.#within(() => this.#provider());
    const begun = {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
    };
    const url = new URL(authorization);
    const asked = {
      response_type: "code",
      client_id: client.clientId,
      redirect_uri: redirectOf(client),
      scope: client.scopes.join(" "),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    return { url: url.href, begun };
  }

  /**
   * The person who has logged in. Throws `authentication` or `unavailable`. No error contains anything from a token or from the
   * provider's answer.
   */
  async finish(query: URLSearchParams, { state, nonce, verifier }: LoginBegun): Promise<Identity> {
    if (query.get("state") !== state) refuse("The login was started in another window, or too long ago: try again");
    const { server } = await this.#within(() => this.#provider());
    const callback = this.#checkCallback(server, query, state);
    const response = await this.#within((signal) =>
      this.#exchanges.run(undefined, signal, () => this.#exchange(server, callback, verifier, signal))
    );
    const payload = await this.#verify(await idTokenIn(response));
    await this.#checkAnswer(server, response, nonce);
    if (payload.azp !== undefined && payload.azp !== this.#options.client.clientId) refuse(OTHER_LOGIN);
    return identityIn(payload, this.#options.oidc);
  }

  /**
   * The URL at which the browser ends its session at the provider. `undefined` if there is none or it cannot be determined. The
   * browser does not return from there: the provider shows an error if a return URL is not registered.
   */
  async end(): Promise<string | undefined> {
    const { end } = await settleWithin(this.#provider().catch(() => undefined), END_MS) ?? {};
    if (end === undefined) return undefined;
    const url = new URL(end);
    url.searchParams.set("client_id", this.#options.client.clientId);
    return url.href;
  }

  /** The parameters with which the browser came back. Refuses them unless they answer this login. */
  #checkCallback(server: oauth.AuthorizationServer, query: URLSearchParams, state: string): URLSearchParams {
    try {
      const checked = oauth.validateAuthResponse(server, this.#client, query, state);
      const codes = checked.getAll("code");
      if (codes.length === 1 && codes[0]) return checked;
    } catch (thrown) {
      if (!(thrown instanceof oauth.AuthorizationResponseError)) refuse("The answer came from another provider");
    }
    refuse("The provider refused the login");
  }

  async #exchange(
    server: oauth.AuthorizationServer,
    callback: URLSearchParams,
    verifier: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const { client, secret } = this.#options;
    const auth = await (this.#auth ??= clientAuthOf(client.authMethod, secret));
    const redirect = redirectOf(client);
    return await oauth.authorizationCodeGrantRequest(server, this.#client, auth, callback, redirect, verifier, {
      ...this.#request,
      signal,
    });
  }

  /** Checks the signature with the issuer's cached keys, and the claims whose faults can be explained to a person. */
  async #verify(token: string): Promise<JWTPayload> {
    const { oidc, client, now } = this.#options;
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
    return payload;
  }

  /** Checks the whole answer of the token endpoint. */
  async #checkAnswer(server: oauth.AuthorizationServer, response: Response, expectedNonce: string): Promise<void> {
    const options = { expectedNonce, requireIdToken: true };
    await oauth.processAuthorizationCodeResponse(server, this.#client, response, options).catch(({ cause }) => {
      const isOfToken = Object(cause).claims !== undefined;
      refuse(isOfToken ? OTHER_LOGIN : "The provider's answer is not what OpenID Connect requires");
    });
  }

  get #client(): oauth.Client {
    const { client, oidc, now } = this.#options;
    return {
      client_id: client.clientId,
      [oauth.clockSkew]: Math.round((now() - Date.now()) / 1_000),
      [oauth.clockTolerance]: oidc.clockToleranceMs / 1_000,
    };
  }

  get #request() {
    // The library need not refuse plain http: the configuration and `#discover` allow it on this machine alone.
    return { [oauth.customFetch]: this.#options.fetch, [oauth.allowInsecureRequests]: true };
  }

  /** The provider's metadata, fetched once for all concurrent callers. A failure is not cached. */
  #provider(): Promise<Provider> {
    const { monotonic, signal } = this.#options;
    if (this.#kept && monotonic() - this.#kept.readAt < KEPT_MS) return this.#kept.provider;
    const late = () => new Error("The provider did not answer in time");
    const provider = abortAfter(ANSWER_MS, signal, (signal) => this.#discover(signal), late);
    const kept = this.#kept = { provider, readAt: monotonic() };
    provider.catch(() => {
      if (this.#kept === kept) this.#kept = undefined;
    });
    return provider;
  }

  /** A wrong token endpoint would receive the code. So it must have the issuer's origin or be configured. */
  async #discover(signal: AbortSignal): Promise<Provider> {
    const { oidc: { issuer, algorithms }, client } = this.#options;
    const url = new URL(issuer);
    const found = await oauth.processDiscoveryResponse(
      url,
      await oauth.discoveryRequest(url, { ...this.#request, signal }),
    );
    // Tokens must name the issuer letter by letter, but the library compares URLs.
    if (found.issuer !== issuer) throw new Error("The discovery document belongs to another issuer");
    const authorization = placeFor(found.authorization_endpoint, issuer);
    if (authorization === undefined) throw new Error("The issuer's discovery document has no authorization endpoint");
    const token = client.tokenUrl ?? String(found.token_endpoint);
    if (client.tokenUrl === undefined && URL.parse(token)?.origin !== url.origin) {
      throw new Error(
        'The issuer\'s token endpoint has a different origin: set its URL in "oidc.console.tokenUrl"',
      );
    }
    const server = { ...found, token_endpoint: token, id_token_signing_alg_values_supported: algorithms };
    return { server, authorization, end: placeFor(found.end_session_endpoint, issuer) };
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

/** The URL to which the provider sends the browser after the login. */
function redirectOf({ url }: OidcClient): string {
  return `${url.replace(/\/+$/, "")}/callback`;
}

/** Reads the ID token from a copy of the answer, because the library reads the answer itself. */
async function idTokenIn(response: Response): Promise<string> {
  const { id_token: idToken } = Object(await response.clone().json().catch(() => undefined)) as Record<string, unknown>;
  if (typeof idToken !== "string") refuse("The provider gave no ID token: is openid among the scopes?");
  // The groups are stored with the session, in one record of the store.
  if (idToken.length > MOST_CHARACTERS) refuse(`The ID token is longer than ${MOST_CHARACTERS} characters`);
  return idToken;
}

function refuse(message: string): never {
  throw new GatewayError("authentication", message);
}
