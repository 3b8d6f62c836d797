/** How the console's client authenticates at the token endpoint. */
import { assertEquals, assertRejects } from "@std/assert";
import { exportPKCS8 } from "jose";
import type { Config } from "../../src/config/schema.ts";
import { GatewayError } from "../../src/errors.ts";
import { clientAuthOf } from "../../src/http/oidc_client_auth.ts";
import { newKey } from "../support/token_issuer.ts";

type Method = NonNullable<NonNullable<Config["oidc"]>["console"]>["authMethod"];

async function sentBy(
  method: Method,
  id: string,
  secret: string,
): Promise<{ body: URLSearchParams; headers: Headers }> {
  const sent = { body: new URLSearchParams(), headers: new Headers() };
  const auth = await clientAuthOf(method, secret);
  await auth({ issuer: "https://login.test" }, { client_id: id }, sent.body, sent.headers);
  return sent;
}

Deno.test("client authentication: GitLab does not decode the header, so hyphens, dots and underscores stay", async () => {
  const { headers } = await sentBy("client_secret_basic", "lane-way_1.apps", "gloas-a_b.c");
  assertEquals(headers.get("authorization"), `Basic ${btoa("lane-way_1.apps:gloas-a_b.c")}`);
});

Deno.test("client authentication: what would end the id, or is no ASCII, is encoded as in a form", async () => {
  const { headers } = await sentBy("client_secret_basic", "a:b", "1+2 %é");
  assertEquals(headers.get("authorization"), `Basic ${btoa("a%3Ab:1%2B2+%25%C3%A9")}`);
});

Deno.test("client authentication: a private key may have white space around it", async () => {
  const pem = await exportPKCS8((await newKey("client", "ES256")).privateKey);
  const { body } = await sentBy("private_key_jwt", "a", `\n  ${pem}\n\n`);
  assertEquals(body.get("client_assertion")?.split(".").length, 3);
});

Deno.test("client authentication: an empty secret does not make a public client", async () => {
  for (const method of ["client_secret_basic", "client_secret_post", "private_key_jwt"] as const) {
    const message = 'The variable of the secret of "oidc.console" is not set';
    await assertRejects(() => clientAuthOf(method, ""), GatewayError, message);
  }
});
