import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { JsonValue } from "../../../src/canonical/json.ts";
import type { ModelInfo } from "../../../src/canonical/models.ts";
import { GatewayError } from "../../../src/errors.ts";
import { routerCatalog } from "../../../plugins/hub/mod.ts";
import { listed, MODELS, provider } from "../../support/fake_hub.ts";

function parse(body: JsonValue): ModelInfo[] {
  return routerCatalog.parseListing([{ status: 200, headers: new Headers(), body }]);
}

/** The one model of a list of one entry. */
function parseOne(entry: JsonValue): ModelInfo | undefined {
  return parse({ object: "list", data: [{ id: "org/other" }, entry] })[1];
}

Deno.test("hub: the list is one call", () => {
  assertEquals(routerCatalog.listing(), [{ path: "models" }]);
});

Deno.test("hub: a model has the context that any live provider gives, and the tools of any of them", () => {
  assertEquals(parse({ object: "list", data: [...MODELS] }), [
    {
      id: "zai-org/GLM-5.3",
      task: "chat",
      created: 1_790_000_000,
      ownedBy: "zai-org",
      contextLength: 202_752,
      inputModalities: ["text"],
      supportsTools: true,
      prices: { novita: { input: 0.6, output: 2.2 } },
    },
    {
      id: "moonshotai/Kimi-K3",
      task: "chat",
      created: 1_790_000_000,
      ownedBy: "moonshotai",
      contextLength: 262_144,
      inputModalities: ["text", "image"],
      supportsTools: true,
    },
    {
      id: "org/bare",
      task: "chat",
      created: 0,
      ownedBy: "org",
      contextLength: undefined,
      inputModalities: undefined,
      supportsTools: undefined,
    },
  ]);
});

Deno.test("hub: providers that are not live do not count, and those that tell nothing take nothing away", () => {
  const down = provider("a", { status: "error", context_length: 1, supports_tools: true });
  const silent = provider("b");
  const small = provider("c", { context_length: 8_192, supports_tools: false });
  const facts = (...providers: ReturnType<typeof provider>[]) => {
    const model = parseOne(listed("org/m", providers));
    return [model?.contextLength, model?.supportsTools];
  };
  assertEquals(facts(down), [undefined, undefined]);
  assertEquals(facts(down, silent), [undefined, undefined]);
  assertEquals(facts(down, silent, small), [8_192, false]);
  assertEquals(facts(small, provider("d", { context_length: 32_768, supports_tools: true })), [8_192, true]);
});

for (
  const [name, entry] of [
    ["a number", 7],
    ["null", null],
    ["a list", []],
    ["no id", { object: "model" }],
    ["an id that is a number", { id: 7 }],
    ["an empty id", { id: "" }],
    ["an id with a line break", { id: "org/a\nb" }],
    ["an id without end", { id: "a".repeat(300) }],
  ] as const
) {
  Deno.test(`hub: an entry with ${name} is left out, and the others stay`, () => {
    assertEquals(parseOne(entry as JsonValue), undefined);
  });
}

for (
  const fields of [
    { providers: null },
    { providers: "novita" },
    { providers: [null, 7, "novita", {}, { status: "live", context_length: "8192" }] },
    { providers: [provider("a", { context_length: -1 }), provider("b", { context_length: 1.5 })] },
    { architecture: null },
    { architecture: { input_modalities: "text" } },
    { architecture: { input_modalities: ["smell", 7] } },
    { created: "yesterday" },
    { created: 1e300 },
    { owned_by: null },
  ] as { [key: string]: JsonValue }[]
) {
  Deno.test(`hub: what cannot be read of an entry is not known: ${JSON.stringify(fields)}`, () => {
    const model = parseOne({ id: "org/m", ...fields });
    assertEquals(JSON.parse(JSON.stringify(model)), { id: "org/m", task: "chat", created: 0, ownedBy: "org" });
  });
}

for (
  const [name, body] of [
    ["a page", "<html>Sign in</html>"],
    ["nothing", ""],
    ["null", null],
    ["a bare list", [{ id: "org/m" }]],
    ["an error", { error: "Internal" }],
    ["no models", { object: "list", data: [] }],
    ["no model that can be read", { object: "list", data: [{ name: "org/m" }, 7] }],
  ] as const
) {
  Deno.test(`hub: an answer with ${name} is no list`, () => {
    const error = assertThrows(() => parse(body as JsonValue), GatewayError);
    assertEquals(error.code, "upstream_error");
  });
}

Deno.test("hub: any JSON is a list of models or an error of ours", () => {
  const key = fc.constantFrom("id", "created", "owned_by", "providers", "architecture", "input_modalities", "status");
  fc.assert(
    fc.property(fc.array(fc.object({ key, maxDepth: 4 })), (data) => {
      for (const model of parse({ data: [{ id: "org/m" }, ...JSON.parse(JSON.stringify(data))] })) {
        new Date(model.created * 1000).toISOString();
      }
    }),
    { numRuns: 500, seed: 1 },
  );
});

Deno.test("hub: each provider has the price that it states in full, and nothing is free but what is said to be", () => {
  const pricing = (value: object | string | null) => ({ pricing: value as Record<string, number> });
  const model = parseOne(listed("org/m", [
    provider("a", pricing({ input: 0.15, output: 0.6 })),
    provider("b", { status: "error", ...pricing({ input: 1, output: 2, more: 3 }) }),
    provider("free", { is_free: true }),
    provider("paid", { is_free: false }),
    provider("half", pricing({ input: 1 })),
    provider("text", pricing({ input: "1", output: "2" })),
    provider("negative", pricing({ input: -1, output: 2 })),
    provider("wild", pricing({ input: 1e9, output: 2 })),
    provider("none", pricing(null)),
  ]));
  assertEquals(model?.prices, {
    a: { input: 0.15, output: 0.6 },
    b: { input: 1, output: 2 },
    free: { input: 0, output: 0 },
  });
});
