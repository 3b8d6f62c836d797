import { assertEquals, assertNotEquals } from "@std/assert";
import type { GenerateRequest, Message } from "../../src/canonical/generate.ts";
import { conversationKey, homeFirst, Homes } from "../../src/routing/session_affinity.ts";

const HOUR_MS = 3_600_000;

Deno.test("homes: the latest target counts, for an hour after its last answer", () => {
  let now = 0;
  const homes = new Homes(() => now);
  homes.keep("talk", { target: "a/model" });
  homes.keep("talk", { target: "b/model", provider: "novita" });
  now = HOUR_MS - 1;
  assertEquals(homes.of("talk")?.target, "b/model");
  homes.keep("talk", { target: "b/model", provider: "novita" });
  now += HOUR_MS - 1;
  assertEquals(homes.of("talk")?.provider, "novita");
  now += 1;
  assertEquals(homes.of("talk"), undefined);
});

Deno.test("homes: only the target that failed is forgotten", () => {
  const homes = new Homes(() => 0);
  homes.keep("talk", { target: "a/model" });
  homes.forget("talk", "b/model");
  homes.forget("other", "a/model");
  assertEquals(homes.of("talk")?.target, "a/model");
  homes.forget("talk", "a/model");
  assertEquals(homes.of("talk"), undefined);
});

Deno.test("homes: of ten thousand conversations the one that was answered first is forgotten", () => {
  const homes = new Homes(() => 0);
  for (const talk of ["again", "first", "again"]) homes.keep(talk, { target: "a/model" });
  for (let at = 0; at < 9_999; at++) homes.keep(`talk-${at}`, { target: "a/model" });
  const known = ["first", "again", "talk-0", "talk-9998"].filter((talk) => homes.of(talk));
  assertEquals(known, ["again", "talk-0", "talk-9998"]);
});

const TARGETS = [{ upstream: "a", model: "org/model" }, { upstream: "b", model: "org/model" }];
const policiesOf = (upstream: string) => upstream === "router" ? ["fastest", "cheapest"] : undefined;

Deno.test("homes: the conversation's home is asked first, then the others in their order", () => {
  const three = [...TARGETS, { upstream: "c", model: "org/model" }];
  const order = (home?: string) =>
    homeFirst(three, home === undefined ? undefined : { target: home }, policiesOf).map(({ upstream }) => upstream);
  assertEquals(order(), ["a", "b", "c"]);
  assertEquals(order("c/org/model"), ["c", "a", "b"]);
  // The configuration may have changed since.
  assertEquals(order("gone/org/model"), ["a", "b", "c"]);
});

for (
  const [model, pinned] of [
    ["org/model", "org/model:novita"],
    ["org/model:cheapest", "org/model:novita"],
    ["org/model:together", undefined],
  ] as const
) {
  Deno.test(`homes: ${model} is ${pinned ? `asked as ${pinned}, then as it is` : "somebody's own choice"}`, () => {
    const own = { upstream: "router", model };
    const home = { target: `router/${model}`, provider: "novita" };
    const asked = homeFirst([TARGETS[0]!, own], home, policiesOf).map((one) => one.pinned ?? one.model);
    assertEquals(asked, [...(pinned ? [pinned] : []), model, "org/model"]);
  });
}

Deno.test("homes: an upstream that chooses no providers is asked for none", () => {
  const home = { target: "a/org/model", provider: "novita" };
  assertEquals(homeFirst(TARGETS, home, policiesOf).map(({ pinned }) => pinned), [undefined, undefined]);
});

const NAMES = ["x-session", "x-agent"];

function said(role: "system" | "user", ...texts: string[]): Message {
  return { role, content: texts.map((text) => ({ type: "text", text })) };
}

function keyOf(
  { scope = ["owner", "oss", "model"], headers = {}, ...request }: {
    scope?: string[];
    headers?: HeadersInit;
  } & Partial<GenerateRequest>,
): string {
  return conversationKey(scope, { messages: [], ...request }, new Headers(headers), NAMES);
}

const BEGINNING = [said("system", "Be brief"), said("user", "Hello")];

Deno.test("conversations: it is the same one as it grows, and as its files and cache hints change", () => {
  const first = keyOf({ messages: BEGINNING });
  const answered: Message = { role: "assistant", content: [{ type: "text", text: "Hi" }] };
  assertEquals(keyOf({ messages: [...BEGINNING, answered, said("user", "Go on"), said("system", "Now")] }), first);
  const hinted: Message = {
    role: "user",
    content: [{ type: "text", text: "Hello", extra: { wire: "messages", fields: { cache_control: {} } } }],
  };
  assertEquals(keyOf({ messages: [BEGINNING[0]!, hinted] }), first);
});

Deno.test("conversations: another beginning, caller, lane or model is another one", () => {
  const long = "x".repeat(5_000);
  const keys = [
    keyOf({ messages: BEGINNING }),
    keyOf({ messages: [BEGINNING[0]!, said("user", "Hello!")] }),
    keyOf({ messages: [said("system", "Be kind"), BEGINNING[1]!] }),
    keyOf({ messages: BEGINNING, scope: ["other", "oss", "model"] }),
    keyOf({ messages: BEGINNING, scope: ["owner", "hf", "model"] }),
    keyOf({ messages: BEGINNING, scope: ["owner", "oss", "other"] }),
    keyOf({ messages: [said("user", `${long} one`)] }),
    keyOf({ messages: [said("user", `${long} two`)] }),
  ];
  assertEquals(new Set(keys).size, keys.length);
});

Deno.test("conversations: what the client calls it goes before how it begins, and the key of the cache before both", () => {
  const other = [said("user", "Something else")];
  const named = keyOf({ messages: BEGINNING, headers: { "x-session": "1" } });
  assertEquals(keyOf({ messages: other, headers: { "x-session": "1" } }), named);
  assertNotEquals(keyOf({ messages: BEGINNING, headers: { "x-session": "2" } }), named);
  assertNotEquals(keyOf({ messages: BEGINNING, headers: { "x-session": "1", "x-agent": "a" } }), named);
  const keyed = keyOf({ messages: BEGINNING, cacheKey: "k", headers: { "x-session": "1" } });
  assertEquals(keyOf({ messages: other, cacheKey: "k" }), keyed);
  assertNotEquals(keyed, named);
});
