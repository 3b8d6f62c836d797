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

export interface LoginClient {
  id: string;
  secret?: string;
  /** The way in which the provider lets the client authenticate, if not the usual one. */
  method?: "client_secret_post" | "private_key_jwt";
  /** The client's public keys. */
  keys?: readonly SigningKey[];
  redirect: string;
}

/** A provider at which people log in, by forms that take any password. */
export async function startLoginProvider(
  client: LoginClient,
  groupsOf: (person: string) => readonly string[],
): Promise<{ issuer: string } & AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey, kid, alg } = await newKey("login", "RS256");
  const provider = new Provider(issuer, {
    clients: [{
      client_id: client.id,
      ...client.secret !== undefined && { client_secret: client.secret },
      token_endpoint_auth_method: client.method ?? (client.secret === undefined ? "none" : "client_secret_basic"),
      ...client.keys && { jwks: { keys: client.keys.map(({ publicJwk }) => publicJwk) } },
      redirect_uris: [client.redirect],
      grant_types: ["authorization_code"],
    }],
    jwks: { keys: [{ ...await exportJWK(privateKey), kid, alg, use: "sig" }] },
    cookies: { keys: [SECRET] },
    enabledJWA: { clientAuthSigningAlgValues: ["RS256", "PS256", "ES256", "ES384", "Ed25519"] },
    claims: { openid: ["sub"], profile: ["groups"] },
    conformIdTokenClaims: false,
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, groups: groupsOf(id) }) }),
  });
  server.on("request", provider.callback());
  return {
    issuer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Logs a person in, as a browser does from `url` on. Returns the address that the provider sends it to in the end. */
export async function logInAt(url: string, person: string, redirect: string): Promise<string> {
  const jar = new Map<string, string>();
  let request: { url: string; body?: URLSearchParams } = { url };
  for (let step = 0; step < 20; step++) {
    const response = await fetch(request.url, {
      method: request.body ? "POST" : "GET",
      body: request.body,
      redirect: "manual",
      headers: { cookie: Array.from(jar, ([name, value]) => `${name}=${value}`).join("; ") },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      jar.set(name!, value!);
    }
    const text = await response.text();
    const next = response.headers.get("location");
    if (next?.startsWith(redirect)) return next;
    const form = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1];
    if (next) request = { url: new URL(next, request.url).href };
    else if (form && prompt) {
      request = {
        url: new URL(form, request.url).href,
        body: new URLSearchParams({ prompt, login: person, password: "x" }),
      };
    } else throw new Error(`The provider answered ${response.status}: ${text.slice(0, 500)}`);
  }
  throw new Error("The provider goes round in circles");
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
