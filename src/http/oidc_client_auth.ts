/** Authenticates the console's client at the provider's token endpoint. */
import * as oauth from "oauth4webapi";
import type { Config } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import { builtin } from "../util/builtin.ts";

type AuthMethod = NonNullable<NonNullable<Config["oidc"]>["console"]>["authMethod"];

/** `secret` is absent for a public client. */
export async function clientAuthOf(method: AuthMethod, secret: string | undefined): Promise<oauth.ClientAuth> {
  if (secret === undefined) return oauth.None();
  switch (method) {
    case "client_secret_basic":
      return oauth.ClientSecretBasic(secret);
    case "client_secret_post":
      return oauth.ClientSecretPost(secret);
    case "private_key_jwt":
      return oauth.PrivateKeyJwt(await privateKeyIn(secret));
  }
}

/** Reads a private key from a JWK or from PEM. No error contains any part of it. */
async function privateKeyIn(text: string): Promise<oauth.PrivateKey> {
  try {
    const { alg, kid, use: _, key_ops: __, ...jwk } = text.trimStart().startsWith("{")
      ? JSON.parse(text)
      : builtin("node:crypto").createPrivateKey(text).export({ format: "jwk" });
    const key = await crypto.subtle.importKey("jwk", jwk, algorithmOf(jwk, alg), false, ["sign"]);
    // With Node's types loaded, the library's type of a key admits none.
    return { key, kid } as oauth.PrivateKey;
  } catch {
    throw new GatewayError("unavailable", 'The secret of "oidc.console" is no private key as JWK or PEM');
  }
}

function algorithmOf({ kty, crv }: JsonWebKey, alg = "RS256"): RsaHashedImportParams | EcKeyImportParams | Algorithm {
  if (kty === "EC") return { name: "ECDSA", namedCurve: crv! };
  if (kty !== "RSA") return { name: crv! };
  return { name: alg.startsWith("PS") ? "RSA-PSS" : "RSASSA-PKCS1-v1_5", hash: `SHA-${alg.slice(2)}` };
}
