/** The command `probe` at the address of a known provider. */
import { assertEquals } from "@std/assert";
import { providers } from "../../plugins/mod.ts";
import { byProvider, type Entry } from "../../src/programs/probe/provider_entry.ts";

const because = (entry: Entry["entry"]) => Object.fromEntries(Object.keys(entry).map((key) => [key, `why ${key}`]));
const shortened = (entry: Entry["entry"], title?: string) =>
  byProvider({ entry, reasons: because(entry) }, title, providers);

Deno.test("probe: a provider's entry is its name and what the provider does not set", () => {
  const { entry, reasons } = shortened({
    driver: "chat",
    baseUrl: "https://openrouter.ai/api/v1",
    secret: { env: "OPENROUTER_API_KEY" },
    dialect: "reasoning-object",
    cacheControl: "pass",
    systemMessages: "anywhere",
  });
  assertEquals(entry, { provider: "openrouter", systemMessages: "anywhere" });
  assertEquals(reasons, {
    provider: "it is OpenRouter; docs/providers.md says what this sets",
    systemMessages: "why systemMessages",
  });
});

Deno.test("probe: another variable, header or driver of a provider stays in its entry", () => {
  const chat = { driver: "chat", baseUrl: "https://api.groq.com/openai/v1", secret: { env: "MINE" } };
  assertEquals(shortened(chat).entry, { provider: "groq", secret: { env: "MINE" } });
  const messages = {
    driver: "messages",
    baseUrl: "https://api.z.ai/api/anthropic/v1",
    secret: { env: "ZAI_API_KEY", header: "authorization" },
  };
  assertEquals(shortened(messages).entry, { provider: "zai", driver: "messages" });
});

Deno.test("probe: a local address is a provider's only if the server says that it is that one", () => {
  const entry = { driver: "chat", baseUrl: "http://127.0.0.1:8080/v1", dialect: "template" };
  assertEquals(shortened(entry, "llama.cpp b1234").entry, { provider: "llamacpp" });
  assertEquals(shortened(entry, "SGLang 0.5.9").entry, entry);
  assertEquals(shortened(entry).entry, entry);
});

Deno.test("probe: a server at any other address keeps its whole entry", () => {
  const entry = { driver: "chat", baseUrl: "https://api.groq.com/openai/v2" };
  assertEquals(shortened(entry), { entry, reasons: because(entry) });
});
