/** An upstream that names its provider. */
import { assertEquals } from "@std/assert";
import { providers } from "../../plugins/mod.ts";
import { parseConfig, pluginFacts } from "../../src/app.ts";
import { loadConfig, parseConfig as parse } from "../../src/config/load.ts";
import { permissionsOf } from "../../src/config/permissions.ts";
import { withPresets } from "../../src/util/config_text.ts";
import { problemsOf } from "./surroundings.ts";

const options = { env: () => "a-secret-of-the-user" };
const lanes = { oss: { upstreams: { chat: "paid" } } };
const configOf = (paid: object, more: object = {}) => ({ upstreams: { paid }, lanes, ...more });

/** The upstream as the gateway uses it. */
const used = (paid: object) => parseConfig(configOf(paid, { listen: { port: 4000 } }), options).upstreams.paid!;
const problems = (paid: object, more: object = {}) => problemsOf(() => parseConfig(configOf(paid, more), options));

Deno.test("provider: it gives driver, base URL, secret and quirks", () => {
  const { driver, baseUrl, secret, dialect, cacheControl } = used({ provider: "openrouter" });
  assertEquals([driver, baseUrl, secret], ["chat", "https://openrouter.ai/api/v1", { env: "OPENROUTER_API_KEY" }]);
  assertEquals([dialect, cacheControl], ["reasoning-object", "pass"]);
});

Deno.test("provider: what is written wins, and null takes a setting away", () => {
  const own = used({ provider: "openrouter", dialect: "router", cacheControl: null, baseUrl: "http://proxy.test/v1" });
  assertEquals([own.dialect, own.cacheControl, own.baseUrl], ["router", "drop", "http://proxy.test/v1"]);
  assertEquals(used({ provider: "groq", secret: null }).secret, undefined);
  assertEquals(used({ provider: "groq", secret: "client" }).secret, "client");
  assertEquals(used({ provider: "openai", refuses: [] }).refuses, []);
});

Deno.test("provider: it is stronger than the default that a file extends, whose merge leaves each null to it", () => {
  const upstreams = { router: { provider: "groq" }, open: { provider: "mistral", secret: null } };
  const text = JSON.stringify({ extends: "default", upstreams });
  const { config } = loadConfig({ path: "mine.json", ...pluginFacts(), ...options, readText: () => text });
  assertEquals(config.upstreams.router!.baseUrl, "https://api.groq.com/openai/v1");
  assertEquals(config.upstreams.open!.secret, undefined);
});

Deno.test("provider: a secret's source and its place are replaced one by one", () => {
  const azure = (secret: object) => used({ provider: "azure", baseUrl: "https://mine.test/openai/v1", secret }).secret;
  assertEquals(azure({ env: "MINE" }), { env: "MINE", header: "api-key" });
  assertEquals(azure({ file: "/run/token" }), { file: "/run/token", header: "api-key" });
  assertEquals(azure({ header: "authorization" }), { env: "AZURE_OPENAI_API_KEY", header: "authorization" });
  assertEquals(azure({ query: "key" }), { env: "AZURE_OPENAI_API_KEY", query: "key" });
});

Deno.test("provider: another of its drivers brings that driver's base URL and header", () => {
  const { driver, baseUrl, secret } = used({ provider: "zai", driver: "messages" });
  assertEquals([driver, baseUrl], ["messages", "https://api.z.ai/api/anthropic/v1"]);
  assertEquals(secret, { env: "ZAI_API_KEY", header: "authorization" });
});

Deno.test("provider: an unknown one is one problem, with the name that was meant", () => {
  assertEquals(problems({ provider: "antropic" }), [
    'upstreams.paid.provider: Cannot find provider "antropic"; did you mean "anthropic"?',
  ]);
  assertEquals(problems({ provider: "open-router" }), [
    'upstreams.paid.provider: Cannot find provider "open-router"; did you mean "openrouter"?',
  ]);
  assertEquals(problems({ provider: 1 }).length > 0, true);
  assertEquals(problems({ provider: "constructor" }).length, 1);
});

Deno.test("provider: the name of a provider as driver is answered with both ways to write it", () => {
  assertEquals(problems({ driver: "openai", baseUrl: "https://api.openai.com/v1" }), [
    'upstreams.paid.driver: Cannot find driver "openai"; write "provider": "openai" instead, or "driver": "chat" with ' +
    "a baseUrl",
  ]);
});

Deno.test("secret: the names that other programs use are answered with the setting", () => {
  for (const name of ["apiKey", "api_key", "token", "authToken", "key"]) {
    assertEquals(problems({ provider: "groq", [name]: "sk-123" }), [
      `upstreams.paid.${name}: Unknown setting; use "secret": { "env": "NAME" }, with the name of the variable that holds it`,
    ]);
  }
  assertEquals(problems({ provider: "groq", tokenizer: "x" }), [
    'upstreams.paid.tokenizer: Unknown setting; did you mean "tokenizers"?',
  ]);
});

Deno.test("secret: it has one source and one place", () => {
  const chat = { driver: "chat", baseUrl: "http://one.test/v1" };
  const source = 'upstreams.paid.secret: Expected { "env": "NAME" }: a secret itself is never written here';
  assertEquals(problems({ ...chat, secret: {} }), [source]);
  assertEquals(problems({ ...chat, secret: { env: "A", file: "/b" } }), [source]);
  assertEquals(problems({ ...chat, secret: { env: "A", header: "b", query: "c" } }), [
    "upstreams.paid.secret: Expected a header or a query, not both",
  ]);
});

Deno.test("provider: a base URL of each user's own is asked for with its form", () => {
  assertEquals(problems({ provider: "azure" }), [
    'upstreams.paid.baseUrl: Missing: provider "azure" has one for each user, such as ' +
    '"https://RESOURCE.openai.azure.com/openai/v1"',
  ]);
  assertEquals(problems({ provider: "groq", driver: "messages" }), [
    'upstreams.paid.baseUrl: Missing: provider "groq" is known to speak "chat", "responses", but not "messages"',
  ]);
});

Deno.test("provider: a local server on the gateway's own port is none", () => {
  const own =
    'upstreams.paid.baseUrl: The gateway itself listens on port 8000: start it on another one with --port, or set "baseUrl"';
  assertEquals(problems({ provider: "vllm" }), [own]);
  assertEquals(used({ provider: "vllm" }).baseUrl, "http://127.0.0.1:8000/v1");
  assertEquals(problems({ provider: "vllm" }, { listen: { port: 1234 } }), []);
});

Deno.test("provider: own plugins replace the list, and without any no provider is known", () => {
  const mine = { title: "Mine", source: "", model: "m", drivers: { chat: { baseUrl: "http://mine.test/v1" } } };
  const config = configOf({ provider: "mine" });
  assertEquals(parseConfig(config, { ...options, plugins: { providers: { mine } } }).upstreams.paid!.driver, "chat");
  const { providers: _, ...facts } = pluginFacts();
  assertEquals(problemsOf(() => parse(config, "it", { ...facts, ...options })), [
    'upstreams.paid.provider: Cannot find provider "mine"',
  ]);
});

Deno.test("provider: a configuration that names none is not touched, and the list is not read", () => {
  const plain = configOf({ driver: "sandbox" });
  assertEquals(
    withPresets(plain, () => {
      throw new Error("It was read");
    }) === plain,
    true,
  );
});

Deno.test("permissions: a provider's host and variable, and a secret's file", () => {
  const config = withPresets(configOf({ provider: "groq" }), () => providers);
  const place = { listen: {}, env: () => undefined, os: "linux", isThere: () => false };
  const { net, env } = permissionsOf({ config, ...place });
  assertEquals([net.includes("api.groq.com:443"), env.includes("GROQ_API_KEY")], [true, true]);
  const filed = withPresets(configOf({ provider: "groq", secret: { file: "/run/token" } }), () => providers);
  const permitted = permissionsOf({ config: filed, ...place });
  assertEquals([permitted.read.includes("/run/token"), permitted.env.includes("GROQ_API_KEY")], [true, false]);
});
