/** What models cost by the lists of catalogs and by the public list, and for whom. */
import { assertEquals } from "@std/assert";
import type { ModelInfo } from "../../src/canonical/models.ts";
import { createPrices, type PriceLibrary, type UpstreamPrices } from "../../src/lanes/prices.ts";

const MODEL: ModelInfo = {
  id: "org/model",
  task: "chat",
  created: 0,
  ownedBy: "org",
  prices: { cheap: { input: 1, output: 2 }, dear: { input: 3, output: 1.5 } },
};

/** Knows every model at every address, and keeps what it was asked. */
function fakeLibrary(asked: string[]): PriceLibrary {
  return {
    priceOf(address, model, inputTokens, at) {
      asked.push(`${address} ${model} ${inputTokens} ${at}`);
      return { input: 9, output: 9 };
    },
  };
}

function newPrices(upstream: Partial<UpstreamPrices>, library?: PriceLibrary) {
  let opened = 0;
  const prices = createPrices({
    upstreams: new Map([["router", {
      choosesProvider: true,
      list: { models: () => Promise.resolve(new Map([[MODEL.id, MODEL]])) },
      ...upstream,
    }]]),
    ...(library && { openLibrary: () => Promise.resolve((opened++, library)) }),
    now: () => 7,
  });
  return { ...prices, opened: () => opened };
}

const ROUTER = { upstream: "router", model: "org/model" };

Deno.test("prices: the provider that served says the price; who is not known to serve has none", async () => {
  const prices = newPrices({});
  assertEquals(prices.of({ ...ROUTER, provider: "cheap" }), undefined);
  await prices.load(ROUTER);
  assertEquals(prices.of({ ...ROUTER, provider: "cheap" }), { input: 1, output: 2 });
  assertEquals(prices.of({ ...ROUTER, provider: "dear" }), { input: 3, output: 1.5 });
  assertEquals(prices.of({ ...ROUTER, provider: "other" }), undefined);
  assertEquals(prices.of({ ...ROUTER, provider: "constructor" }), undefined);
  assertEquals(prices.of(ROUTER), undefined);
  assertEquals(prices.of({ upstream: "other", model: "org/model", provider: "cheap" }), undefined);
});

Deno.test("prices: the provider that a model's name asks for is the one that served, unless the answer names another", async () => {
  const prices = newPrices({});
  await prices.load(ROUTER);
  assertEquals(prices.of({ ...ROUTER, model: "org/model:dear" }), { input: 3, output: 1.5 });
  assertEquals(prices.of({ ...ROUTER, model: "org/model:dear", provider: "cheap" }), { input: 1, output: 2 });
  assertEquals(prices.of({ ...ROUTER, model: "org/model:fastest" }), undefined);
  assertEquals(prices.of({ ...ROUTER, model: "org/model:fastest", provider: "cheap" }), { input: 1, output: 2 });
});

Deno.test("prices: the most that an answer can cost is the highest price of each kind of token", async () => {
  const prices = newPrices({});
  assertEquals(prices.mostOf(ROUTER), undefined);
  await prices.load(ROUTER);
  assertEquals(prices.mostOf(ROUTER), { input: 3, output: 2 });
  assertEquals(prices.mostOf({ ...ROUTER, model: "org/model:cheap" }), { input: 1, output: 2 });
  assertEquals(prices.mostOf({ ...ROUTER, model: "org/unknown" }), undefined);
});

Deno.test("prices: a list that cannot be had leaves the price unknown, and fails nobody", async () => {
  const prices = newPrices({ list: { models: () => Promise.reject(new Error("down")) } });
  await prices.load(ROUTER);
  assertEquals(prices.of({ ...ROUTER, provider: "cheap" }), undefined);
});

Deno.test("prices: a list that is here is waited for no more", async () => {
  const prices = newPrices({});
  await prices.load(ROUTER);
  assertEquals(prices.load({ ...ROUTER, provider: "cheap" }), undefined);
});

Deno.test("prices: the library is opened only for who has no other price, and is asked by the provider's own address", async () => {
  const asked: string[] = [];
  const prices = newPrices({ baseUrl: "https://router.example.com/v1" }, fakeLibrary(asked));
  await prices.load(ROUTER);
  await prices.load({ ...ROUTER, provider: "cheap" });
  assertEquals(prices.opened(), 0);
  await prices.load({ ...ROUTER, provider: "other" });
  assertEquals(prices.opened(), 1);
  assertEquals(prices.of({ ...ROUTER, model: "org/model:fastest", provider: "other" }, 5), { input: 9, output: 9 });
  assertEquals(prices.of({ ...ROUTER, provider: "cheap" }), { input: 1, output: 2 });
  assertEquals(prices.of(ROUTER), undefined);
  prices.of({ ...ROUTER, path: "third/v1", provider: "third" });
  assertEquals(asked, [
    "https://router.example.com/other/v1 org/model 5 7",
    "https://router.example.com/v1/third/v1 org/model 0 7",
  ]);
});

Deno.test("prices: what only a private network reaches has no public price", async () => {
  const asked: string[] = [];
  const addresses = [
    "http://api.example.com/v1",
    "https://localhost:8000/v1",
    "https://10.1.2.3/v1",
    "https://[2001:db8::1]/v1",
    "https://gpu/v1",
    undefined,
  ];
  for (const baseUrl of addresses) {
    const prices = newPrices({ baseUrl, choosesProvider: false, list: undefined }, fakeLibrary(asked));
    await prices.load(ROUTER);
    assertEquals([prices.of(ROUTER), prices.opened()], [undefined, 0], baseUrl);
  }
  const prices = newPrices(
    { baseUrl: "https://api.example.com/v1", choosesProvider: false, list: undefined },
    fakeLibrary(asked),
  );
  await prices.load(ROUTER);
  assertEquals(prices.of(ROUTER), { input: 9, output: 9 });
  assertEquals(asked, ["https://api.example.com/v1 org/model 0 7"]);
});

Deno.test("prices: a library that cannot be loaded leaves the price unknown", async () => {
  const prices = createPrices({
    upstreams: new Map([["router", { baseUrl: "https://api.example.com/v1", choosesProvider: false }]]),
    openLibrary: () => Promise.reject(new Error("missing")),
    now: () => 0,
  });
  await prices.load(ROUTER);
  assertEquals(prices.of(ROUTER), undefined);
});

Deno.test("prices: where nobody chooses a provider, a colon is part of the model's name", async () => {
  const asked: string[] = [];
  const upstream = { baseUrl: "https://api.example.com/v1", choosesProvider: false, list: undefined };
  const prices = newPrices(upstream, fakeLibrary(asked));
  await prices.load({ ...ROUTER, model: "org/model:free" });
  prices.of({ ...ROUTER, model: "org/model:free" });
  assertEquals(asked, ["https://api.example.com/v1 org/model:free 0 7"]);
});
