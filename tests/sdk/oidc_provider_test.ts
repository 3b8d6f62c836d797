/** Vendors' SDKs whose key is a token of a real OpenID Connect provider. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import { withFolder } from "../state/temp_folder.ts";
import { CONFIG, type ConfigInput, newApp, NOW, type TestApp } from "../support/app.ts";
import { type OidcProvider, startProvider } from "../support/oidc_provider.ts";
import { withPermittedGateway } from "../support/permitted_gateway.ts";
import { newKey } from "../support/token_issuer.ts";
import { fetchFrom } from "./chat_clients.ts";

const AUDIENCE = "laneway";
const CLAIMS = { groups: ["robots"] };

const configFor = ({ issuer }: OidcProvider): ConfigInput => ({
  ...CONFIG,
  oidc: { issuer, audience: [AUDIENCE], groups: [{ name: "robots", models: ["sandbox"] }] },
});

/** By the real clock, beside which another passes that keys are read again by. */
function newRig(provider: OidcProvider) {
  const clock = { ms: NOW };
  const app = newApp({ config: configFor(provider), fetch, now: Date.now, monotonic: () => clock.ms });
  return { app, clock };
}

function clientsOf(app: TestApp, apiKey: string) {
  const options = { apiKey, maxRetries: 0, fetch: fetchFrom(app) };
  return {
    openai: new OpenAI({ ...options, baseURL: "http://gateway/oss/v1" }),
    anthropic: new Anthropic({ ...options, baseURL: "http://gateway/oss" }),
  };
}

const ASKED = { model: "sandbox", messages: [{ role: "user" as const, content: "Hello" }], max_tokens: 99 };

Deno.test("provider: a token by client credentials is a key to both SDKs, and opens what its group opens", async () => {
  await using provider = await startProvider(AUDIENCE, CLAIMS);
  const { app } = newRig(provider);
  const { openai, anthropic } = clientsOf(app, await provider.token());
  assert((await openai.chat.completions.create(ASKED)).choices[0]!.message.content);
  assert((await openai.responses.create({ model: "sandbox", input: "Hello" })).output_text);
  assertEquals((await anthropic.messages.create(ASKED)).content[0]!.type, "text");
  let text = "";
  for await (const { choices } of await openai.chat.completions.create({ ...ASKED, stream: true })) {
    text += choices[0]?.delta.content ?? "";
  }
  assert(text);
  const listed = (await openai.models.list()).data.map(({ id }) => id);
  assertEquals(listed, ["sandbox"]);
  await assertRejects(() => openai.chat.completions.create({ ...ASKED, model: "model" }), OpenAI.PermissionDeniedError);
  await assertRejects(() => anthropic.messages.create({ ...ASKED, model: "model" }), Anthropic.PermissionDeniedError);
  assertEquals([...new Set(app.logs.map(({ key }) => key))], ["oidc:robot"]);
  assertEquals(provider.reads(), 1);
});

Deno.test("provider: what is no token of its own raises the SDKs' own errors", async () => {
  await using provider = await startProvider(AUDIENCE, CLAIMS);
  await using other = await startProvider(AUDIENCE, CLAIMS);
  await using apart = await startProvider("another-gateway", CLAIMS);
  const { app } = newRig(provider);
  const strange = [await other.token(), await apart.token(), `${await provider.token()}x`];
  for (const token of strange) {
    const { openai, anthropic } = clientsOf(app, token);
    await assertRejects(() => openai.chat.completions.create(ASKED), OpenAI.AuthenticationError);
    await assertRejects(() => anthropic.messages.create(ASKED), Anthropic.AuthenticationError);
  }
});

Deno.test("provider: its keys change, first with the old one beside the new one, then without it", async () => {
  await using provider = await startProvider(AUDIENCE, CLAIMS);
  const [old, next] = await Promise.all([newKey("old", "RS256"), newKey("next", "ES256")]);
  await provider.rotate(old);
  const { app, clock } = newRig(provider);
  const status = async (token: string) => {
    const response = await app.post("/oss/v1/chat/completions", ASKED, { authorization: `Bearer ${token}` });
    await response.body?.cancel();
    return response.status;
  };
  const before = await provider.token();
  assertEquals(await status(before), 200);
  await provider.rotate(next, old);
  clock.ms += 10_000;
  const after = await provider.token();
  assertEquals([await status(after), await status(before)], [200, 200]);
  await provider.rotate(next);
  clock.ms += 300_000;
  assertEquals(await status(after), 200);
  while (provider.reads() < 3 || await status(before) === 200) await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals([await status(before), await status(after)], [401, 200]);
  assertEquals(provider.reads(), 3);
});

Deno.test("provider: a gateway with the permissions that it computes reaches it", async () => {
  await using provider = await startProvider(AUDIENCE, CLAIMS);
  const config: ConfigInput = { ...configFor(provider), store: { kind: "memory" }, listen: { port: 0 } };
  await withFolder((folder) =>
    withPermittedGateway(config, `${folder}/gateway.json`, async ({ url }) => {
      const openai = new OpenAI({ apiKey: await provider.token(), baseURL: `${url}/oss/v1`, maxRetries: 0 });
      assert((await openai.chat.completions.create(ASKED)).choices[0]!.message.content);
    })
  );
});
