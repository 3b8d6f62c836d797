/** A token issuer inside a test: its keys, its documents, and tokens of any make. */
import { exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWK, type JWTPayload, SignJWT } from "jose";
import { CONFIG, type ConfigInput, newApp, NOW, type TestApp, type TestAppOptions } from "./app.ts";
import { answerWhole } from "./chat.ts";
import { fakeUpstream } from "./fake_upstream.ts";

export const ISSUER = "https://login.test/realms/acme";
export const AUDIENCE = "laneway";

export interface SigningKey {
  kid: string;
  alg: string;
  privateKey: GenerateKeyPairResult["privateKey"];
  publicJwk: JWK;
}

export async function newKey(kid: string, alg = "ES256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicJwk: { ...await exportJWK(publicKey), kid, alg, use: "sig" } };
}

/** A rig of an app, an issuer that it trusts, and the clock of both. */
export interface OidcRig {
  app: TestApp;
  issuer: TokenIssuer;
  /** Milliseconds since the epoch. */
  clock: { ms: number };
}

/**
 * Creates an issuer and a gateway. A test sets parts of the configuration, and the rest admits every token of the
 * issuer.
 */
export async function newRig(
  oidc: Partial<NonNullable<ConfigInput["oidc"]>> = {},
  { config = {}, ...options }: TestAppOptions = {},
): Promise<OidcRig> {
  const clock = { ms: NOW };
  const issuer = newIssuer([await newKey("first")], () => clock.ms);
  const app = newApp({ fetch: issuer.fetch, now: () => clock.ms, ...options, config: configFor(oidc, config) });
  return { app, issuer, clock };
}

export function configFor(oidc: Partial<NonNullable<ConfigInput["oidc"]>>, config: ConfigInput = {}): ConfigInput {
  return { ...CONFIG, ...config, oidc: { issuer: ISSUER, audience: [AUDIENCE], ...oidc } };
}

/** Its fetch answers for the issuer and for the upstream of the test apps. */
export interface TokenIssuer {
  fetch: typeof fetch;
  /** The keys that it lists now. */
  keys: SigningKey[];
  /** How it answers in place of its documents. */
  answer?: (url: string, signal: AbortSignal) => Promise<Response>;
  /** Where it says that its keys are. */
  jwksUrl: string;
  /** How often its documents were asked for: discovery and keys. */
  asked: { discovery: number; keys: number };
  /** The requests that reached the upstream, as text. */
  sent(): string;
  token(claims?: JWTPayload, key?: SigningKey, header?: object): Promise<string>;
}

/** `now`: milliseconds since the epoch. */
export function newIssuer(keys: SigningKey[], now: () => number): TokenIssuer {
  const upstream = fakeUpstream(() => answerWhole());
  const issuer: TokenIssuer = {
    keys,
    jwksUrl: "https://login.test/keys",
    asked: { discovery: 0, keys: 0 },
    async fetch(input, init) {
      const url = String(input);
      if (new URL(url).host !== "login.test") return await upstream.fetch(input, init);
      issuer.asked[url === issuer.jwksUrl ? "keys" : "discovery"]++;
      if (issuer.answer) return await issuer.answer(url, init!.signal!);
      if (url === issuer.jwksUrl) return Response.json({ keys: issuer.keys.map(({ publicJwk }) => publicJwk) });
      if (url !== `${ISSUER}/.well-known/openid-configuration`) return new Response(null, { status: 404 });
      return Response.json({ issuer: ISSUER, jwks_uri: issuer.jwksUrl });
    },
    sent: () => upstream.asked.map(({ headers, body }) => [...headers].join("\n") + body).join("\n"),
    token(claims = {}, key = issuer.keys[0]!, header = {}) {
      const seconds = Math.floor(now() / 1_000);
      const preset = { iss: ISSUER, aud: AUDIENCE, sub: "anna", iat: seconds, exp: seconds + 600 };
      return new SignJWT({ ...preset, ...claims })
        .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey);
    },
  };
  return issuer;
}
