/** Authenticates the console's client at the provider's token endpoint. */
import * as oauth from "oauth4webapi";
import type { Config } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import { builtin } from "../util/builtin.ts";

type AuthMethod = NonNullable<NonNullable<Config["oidc"]>["console"]>["authMethod"];

/** `secret` is absent for a public client, and empty if its variable is not set. */
export async function clientAuthOf(method: AuthMethod, secret: string | undefined): Promise<oauth.ClientAuth> {
  if (secret === undefined) return oauth.None();
  if (secret === "") throw new GatewayError("unavailable", 'The variable of the secret of "oidc.console" is not set');
  switch (method) {
    case "client_secret_basic":
      return basicAuth(secret);
    case "client_secret_post":
      return oauth.ClientSecretPost(secret);
    case "private_key_jwt":
      return oauth.PrivateKeyJwt(await privateKeyIn(secret));
  }
}

/**
 * The library's own function also escapes hyphens, dots and underscores. Providers that do not decode the header, such as
 * GitLab, then refuse every id and secret that contains one.
 */
function basicAuth(secret: string): oauth.ClientAuth {
  return (_server, client, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${formed(client.client_id)}:${formed(secret)}`)}`);
  };
}

/** Form encoding, which the header uses as well. */
function formed(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

/** Reads a private key from a JWK or from PEM. No error contains any part of it. */
async function privateKeyIn(text: string): Promise<oauth.PrivateKey> {
  try {
    const { alg, kid, use: _, key_ops: __, ...jwk } = text.trimStart().startsWith("{")
      ? JSON.parse(text)
      : builtin("node:crypto").createPrivateKey(text.trim()).export({ format: "jwk" });
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
