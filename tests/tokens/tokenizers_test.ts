import { assert, assertEquals, assertRejects } from "@std/assert";
import { type JsonObject, parseJson } from "../../src/canonical/json.ts";
import type { Prompt } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import type { TokenizerFiles } from "../../src/tokens/tokenizer_files.ts";
import { Tokenizers, type TokenizersPace } from "../../src/tokens/tokenizers.ts";
import { CHATML, ENDLESS, endlessVocabulary, filesOf, REFUSING, tokenizerJson } from "./tiny_tokenizer.ts";

const HELLO: Prompt = { messages: [{ role: "user", content: "hello" }], variables: {} };
/** `<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n`: three marks, `hello`, and the bytes of the rest. */
const HELLO_TOKENS = 3 + 1 + "user\n".length + "\n".length + "assistant\n".length;

/** A loaded machine takes its time to start a worker. */
const PATIENT: Partial<TokenizersPace> = { patienceMs: 60_000, jobMs: 60_000 };

async function withTokenizers(
  download: (model: string) => TokenizerFiles | Promise<TokenizerFiles>,
  test: (count: (model?: string, prompt?: Prompt) => Promise<number>, clock: { ms: number }) => Promise<void>,
  pace: Partial<TokenizersPace> = {},
): Promise<void> {
  const clock = { ms: 0 };
  const tokenizers = new Tokenizers({
    download: async (_, model) => await download(model),
    now: () => clock.ms,
    pace: { ...PATIENT, ...pace },
  });
  try {
    await test((model = "org/model", prompt = HELLO) => tokenizers.count("hub", model, prompt), clock);
  } finally {
    tokenizers.close();
  }
}

function unavailable(promise: Promise<unknown>): Promise<Error> {
  return assertRejects(() => promise, GatewayError);
}

Deno.test("a conversation is counted as the model's template writes it and its vocabulary cuts it", async () => {
  await withTokenizers(() => filesOf(), async (count) => {
    assertEquals(await count(), HELLO_TOKENS);
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    const withTools = await count(undefined, { ...HELLO, tools });
    assertEquals(
      withTools - HELLO_TOKENS,
      2 + "system".length + '{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}'.length +
        1,
    );
    const call = { id: "a", type: "function", function: { name: "f", arguments: { city: "Oslo" } } };
    const withCall = await count(undefined, {
      ...HELLO,
      messages: [...HELLO.messages, { role: "assistant", content: "", tool_calls: [call] }],
    });
    assertEquals(withCall - HELLO_TOKENS, 2 + "assistant\n".length + "f:city=Oslo".length + 1);
    assertEquals(await count(undefined, { ...HELLO, variables: { enable_thinking: false } }), HELLO_TOKENS + 1);
  });
});

Deno.test("numbers that a double would change reach the tokenizer", async () => {
  await withTokenizers(() => filesOf(), async (count) => {
    const countWith = (id: string) =>
      count(undefined, {
        ...HELLO,
        tools: [parseJson(`{"function":{"name":"f","parameters":{"const":${id}}}}`) as JsonObject],
      });
    assertEquals(await countWith("9007199254740993"), await countWith("9007199254740992"));
  });
});

Deno.test("an older repository keeps its template in the settings, alone or among others", async () => {
  for (const template of [CHATML, [{ name: "default", template: REFUSING }, { name: "tool_use", template: CHATML }]]) {
    const settings = new TextEncoder().encode(JSON.stringify({ chat_template: template }));
    await withTokenizers(
      () => ({ ...filesOf(), template: undefined, settings }),
      async (count) => assertEquals(await count(), HELLO_TOKENS),
    );
  }
});

Deno.test("where a template refuses, is not understood, or is not there, the texts are counted alone", async () => {
  const templates = { refusing: REFUSING, broken: "{% if %}", none: undefined };
  await withTokenizers((model) => {
    const template = templates[model as keyof typeof templates];
    return { ...filesOf(template), ...(template === undefined && { template: undefined }) };
  }, async (count) => {
    for (const model of Object.keys(templates)) {
      const tokens = await count(model);
      assert(tokens > 1 && tokens < HELLO_TOKENS * 2, `${model}: ${tokens}`);
    }
  }, { mostLoaded: 3 });
});

Deno.test("a model is loaded once, for all who ask meanwhile and after", async () => {
  let downloads = 0;
  await withTokenizers(() => {
    downloads++;
    return filesOf();
  }, async (count) => {
    assertEquals(await Promise.all(Array.from({ length: 24 }, () => count())), Array(24).fill(HELLO_TOKENS));
    assertEquals(await count(), HELLO_TOKENS);
    assertEquals(downloads, 1);
  });
});

Deno.test("nobody waits long for what is being loaded, and what comes later is counted by it", async () => {
  const files = Promise.withResolvers<TokenizerFiles>();
  await withTokenizers(() => files.promise, async (count, clock) => {
    await unavailable(count());
    await unavailable(count());
    files.resolve(filesOf());
    clock.ms = 1;
    // The next who ask are not held up either; the count is there as soon as the model is.
    const deadline = performance.now() + 30_000;
    for (;;) {
      const tokens = await count().catch(() => undefined);
      if (tokens !== undefined) {
        assertEquals(tokens, HELLO_TOKENS);
        break;
      }
      assert(performance.now() < deadline, "The model was never loaded");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }, { patienceMs: 5 });
});

for (
  const [what, failure, minutes] of [
    ["is not for us", new GatewayError("unavailable", "gated", { upstreamStatus: 403 }), 60],
    ["is not there", new GatewayError("model_not_found", "none", { upstreamStatus: 404 }), 60],
    ["cannot be had now", new GatewayError("unavailable", "busy", { upstreamStatus: 503 }), 1],
    ["cannot be reached", new TypeError("refused"), 1],
  ] as const
) {
  Deno.test(`a tokenizer that ${what} is not asked for again for ${minutes} min`, async () => {
    let downloads = 0;
    await withTokenizers(() => {
      downloads++;
      throw failure;
    }, async (count, clock) => {
      await unavailable(count());
      clock.ms = minutes * 60_000 - 1;
      await unavailable(count());
      assertEquals(downloads, 1);
      clock.ms++;
      await unavailable(count());
      assertEquals(downloads, 2);
    });
  });
}

Deno.test("files that are no tokenizer's are not loaded again for an hour, and cost the others nothing", async () => {
  const texts = { empty: "", html: "<html>", list: "[]", hollow: "{}", torn: tokenizerJson().slice(0, -9) };
  await withTokenizers((model) => {
    const text = texts[model as keyof typeof texts];
    return text === undefined ? filesOf() : { ...filesOf(), vocabulary: new TextEncoder().encode(text) };
  }, async (count, clock) => {
    for (const model of Object.keys(texts)) {
      await unavailable(count(model));
      clock.ms = 59 * 60_000;
      await unavailable(count(model));
      assertEquals(await count(), HELLO_TOKENS);
    }
  });
});

Deno.test("a template or a pattern that does not end is ended, and the others are counted by as before", async () => {
  const downloads: string[] = [];
  await withTokenizers((model) => {
    downloads.push(model);
    if (model === "pattern") return { ...filesOf(), vocabulary: endlessVocabulary() };
    return filesOf(model === "template" ? ENDLESS : CHATML);
  }, async (count, clock) => {
    assertEquals(await count(), HELLO_TOKENS);
    const long: Prompt = { ...HELLO, messages: [{ role: "user", content: "hello".repeat(30) }] };
    for (const model of ["template", "pattern"]) {
      await unavailable(count(model, long));
      await unavailable(count(model));
      clock.ms = 59 * 60_000;
      await unavailable(count(model));
      clock.ms = 0;
      // Where a worker is busy for ever, another has to take its place, which needs the files once more.
      assertEquals(await count(), HELLO_TOKENS);
    }
    assertEquals(downloads, ["org/model", "template", "pattern"]);
  }, { jobMs: 1_500 });
});

Deno.test("two models are held at most; the one that was used longest ago makes room", async () => {
  const downloads: string[] = [];
  await withTokenizers((model) => {
    downloads.push(model);
    return filesOf();
  }, async (count, clock) => {
    for (const model of ["a", "b", "a", "c", "a"]) assertEquals(await count(model), HELLO_TOKENS);
    assertEquals(downloads, ["a", "b", "c"]);
    // One that had to go is not loaded at once again: three in turn would load for ever.
    await unavailable(count("b"));
    clock.ms = 60_000;
    assertEquals(await count("b"), HELLO_TOKENS);
  });
});

Deno.test("a worker that nobody needs is given up, and begun anew when somebody does", async () => {
  let downloads = 0;
  await withTokenizers(() => {
    downloads++;
    return filesOf();
  }, async (count) => {
    assertEquals(await count(), HELLO_TOKENS);
    await new Promise((resolve) => setTimeout(resolve, 30));
    assertEquals(await count(), HELLO_TOKENS);
    assertEquals(downloads, 2);
  }, { idleMs: 1 });
});

Deno.test("once the gateway has stopped nothing is counted any more", async () => {
  const tokenizers = new Tokenizers({ download: () => Promise.resolve(filesOf()), now: () => 0, pace: PATIENT });
  assertEquals(await tokenizers.count("hub", "org/model", HELLO), HELLO_TOKENS);
  tokenizers.close();
  await unavailable(tokenizers.count("hub", "org/model", HELLO));
});

Deno.test("names are forgotten that nobody asks any more, also while a model is held that was asked before them", async () => {
  const downloads = new Map<string, number>();
  const download = (model: string) => {
    downloads.set(model, (downloads.get(model) ?? 0) + 1);
    if (model !== "held") throw new GatewayError("model_not_found", "none", { upstreamStatus: 404 });
    return filesOf();
  };
  await withTokenizers(download, async (count) => {
    assertEquals(await count("held"), HELLO_TOKENS);
    for (const name of ["a", "b", "c", "d", "a"]) await unavailable(count(name));
    assertEquals([downloads.get("held"), downloads.get("a"), downloads.get("b")], [1, 2, 1]);
    assertEquals(await count("held"), HELLO_TOKENS);
    assertEquals(downloads.get("held"), 1);
  }, { mostKnown: 4 });
});
