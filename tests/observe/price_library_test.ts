/** The public list of prices: whose it is, and whose it is not. */
import { assert, assertEquals } from "@std/assert";
import { calcPrice } from "genai-prices";
import { KnownPrices } from "../../src/observe/price_library.ts";

const NOON = Date.UTC(2026, 10, 23, 12);
const library = new KnownPrices();
const at = (address: string, model: string, inputTokens = 0) => library.priceOf(address, model, inputTokens, NOON);

Deno.test("price library: a known model at a known address costs what the library itself reckons", () => {
  const address = "https://api.groq.com/openai/v1";
  const price = at(address, "openai/gpt-oss-120b");
  const usage = { input_tokens: 1_000_000, cache_read_tokens: 400_000, output_tokens: 1_000_000 };
  const reckoned = calcPrice(usage, "openai/gpt-oss-120b", { providerApiUrl: address })!.total_price;
  const { input = NaN, cached = NaN, output = NaN } = price ?? {};
  assertEquals(Math.round((0.6 * input + 0.4 * cached + output) * 1e6), Math.round(reckoned * 1e6));
});

Deno.test("price library: a provider behind the hub's router is known by its path, and the router alone by nothing", () => {
  assert(at("https://router.huggingface.co/together/v1", "openai/gpt-oss-120b")?.input);
  assertEquals(at("https://router.huggingface.co/v1", "openai/gpt-oss-120b"), undefined);
  assertEquals(at("https://router.huggingface.co/togetherness/v1", "openai/gpt-oss-120b"), undefined);
});

Deno.test("price library: neither an address nor a model that it does not know has a price, whatever they look like", () => {
  for (
    const address of ["http://127.0.0.1:8000/v1", "https://example.com/v1", "https://api.openai.com.example.com/v1"]
  ) {
    assertEquals(at(address, "gpt-4o"), undefined, address);
  }
  assert(at("https://api.openai.com/v1", "gpt-4o")?.input);
  assertEquals(at("https://api.openai.com/v1", "no-such-model"), undefined);
  assertEquals(at("https://api.groq.com/openai/v1", "gpt-4o"), undefined);
});

Deno.test("price library: a long input costs what its length costs", () => {
  const address = "https://generativelanguage.googleapis.com/v1beta/openai";
  const [short, edge, long] = [1_000, 200_000, 200_001].map((tokens) => at(address, "gemini-2.5-pro", tokens)!);
  assertEquals(short, edge);
  assert(long!.input! > short!.input! && long!.output! > short!.output!);
  const reckoned = calcPrice({ input_tokens: 300_000 }, "gemini-2.5-pro", { providerApiUrl: address })!.input_price;
  assertEquals(Math.round(long!.input! * 0.3 * 1e9), Math.round(reckoned * 1e9));
});

Deno.test("price library: a price of a part of the day ends with it", () => {
  const own = new KnownPrices();
  const hours = Array.from({ length: 24 }, (_, hour) => Date.UTC(2025, 6, 1, hour));
  const prices = hours.map((time) => own.priceOf("https://api.deepseek.com/v1", "deepseek-chat", 0, time)?.input);
  const reckoned = hours.map((time) =>
    calcPrice({}, "deepseek-chat", { providerApiUrl: "https://api.deepseek.com/v1", timestamp: new Date(time) })!
      .model_price.input_mtok
  );
  assertEquals(prices, reckoned);
  assert(new Set(prices).size > 1, "the price is the same all day long");
});
