/** A real OpenID Connect provider on this machine, with one client that asks for tokens in its own name. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK } from "jose";
import Provider from "oidc-provider";
import { newKey, type SigningKey } from "./token_issuer.ts";

export interface OidcProvider extends AsyncDisposable {
  issuer: string;
  /** The secret of the client `robot`. */
  token(): Promise<string>;
  /** Signs with the first of these keys from now on, and lists all. */
  rotate(...keys: SigningKey[]): Promise<void>;
  /** How often the keys were read. */
  reads(): number;
}

const SECRET = "robot-secret-a1b2c3d4";

/** `audience`: for whom its tokens are made out. `claims`: what they say besides. */
export async function startProvider(audience: string, claims: object): Promise<OidcProvider> {
  let answer: RequestListener | undefined;
  let reads = 0;
  const server = createServer((request, response) => {
    if (request.url === "/jwks") reads++;
    answer!(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rotate = async (...keys: SigningKey[]) => {
    const jwks = await Promise.all(
      keys.map(async ({ privateKey, kid, alg }) => ({ ...await exportJWK(privateKey), kid, alg, use: "sig" })),
    );
    answer = providerOf(issuer, audience, claims, jwks, keys[0]!.alg).callback();
  };
  await rotate(await newKey("first", "RS256"));
  return {
    issuer,
    rotate,
    reads: () => reads,
    async token() {
      const response = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`robot:${SECRET}`)}` },
        body: new URLSearchParams({ grant_type: "client_credentials", scope: "models" }),
      });
      const body = await response.json();
      if (!response.ok) throw new Error(`The provider gave no token: ${JSON.stringify(body)}`);
      return body.access_token;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function providerOf(issuer: string, audience: string, claims: object, keys: object[], alg: string) {
  return new Provider(issuer, {
    clients: [{
      client_id: "robot",
      client_secret: SECRET,
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: alg,
    }],
    jwks: { keys },
    cookies: { keys: [SECRET] },
    scopes: ["models"],
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => "https://gateway.test",
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "models",
          audience,
          accessTokenTTL: 600,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg } },
        }),
      },
    },
    extraTokenClaims: () => claims,
  });
}
