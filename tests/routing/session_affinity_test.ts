import { assertEquals, assertNotEquals } from "@std/assert";
import type { GenerateRequest, Message } from "../../src/canonical/generate.ts";
import { conversationKey, orderByAffinity, SessionAffinity } from "../../src/routing/session_affinity.ts";

const HOUR_MS = 3_600_000;
const FIRST = "a/model";

Deno.test("affinity: the latest target counts, for an hour after its last answer", () => {
  let now = 0;
  const affinity = new SessionAffinity(() => now);
  affinity.keep("talk", { target: "a/model" });
  affinity.keep("talk", { target: "b/model", provider: "novita" });
  now = HOUR_MS - 1;
  assertEquals(affinity.of("talk", FIRST)?.target, "b/model");
  affinity.keep("talk", { target: "b/model", provider: "novita" });
  now += HOUR_MS - 1;
  assertEquals(affinity.of("talk", FIRST)?.provider, "novita");
  now += 1;
  assertEquals(affinity.of("talk", FIRST), undefined);
});

Deno.test("affinity: only the target that failed is forgotten", () => {
  const affinity = new SessionAffinity(() => 0);
  affinity.keep("talk", { target: "a/model" });
  affinity.forget("talk", "b/model");
  affinity.forget("other", "a/model");
  assertEquals(affinity.of("talk", FIRST)?.target, "a/model");
  affinity.forget("talk", "a/model");
  assertEquals(affinity.of("talk", FIRST), undefined);
});

Deno.test("affinity: of ten thousand conversations the one that was answered first is forgotten", () => {
  const affinity = new SessionAffinity(() => 0);
  for (const talk of ["again", "first", "again"]) affinity.keep(talk, { target: "a/model" });
  for (let at = 0; at < 9_999; at++) affinity.keep(`talk-${at}`, { target: "a/model" });
  const known = ["first", "again", "talk-0", "talk-9998"].filter((talk) => affinity.of(talk, FIRST));
  assertEquals(known, ["again", "talk-0", "talk-9998"]);
});

const TARGETS = [{ upstream: "a", model: "org/model" }, { upstream: "b", model: "org/model" }];
const policiesOf = (upstream: string) => upstream === "router" ? ["fastest", "cheapest"] : undefined;

Deno.test("affinity: the conversation's last target is asked first, then the others in their order", () => {
  const three = [...TARGETS, { upstream: "c", model: "org/model" }];
  const order = (last?: string) =>
    orderByAffinity(three, last === undefined ? undefined : { target: last }, policiesOf).map(({ upstream }) =>
      upstream
    );
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
  Deno.test(`affinity: ${model} is ${pinned ? `asked as ${pinned}, then as it is` : "somebody's own choice"}`, () => {
    const own = { upstream: "router", model };
    const last = { target: `router/${model}`, provider: "novita" };
    const asked = orderByAffinity([TARGETS[0]!, own], last, policiesOf).map((one) => one.pinned ?? one.model);
    assertEquals(asked, [...(pinned ? [pinned] : []), model, "org/model"]);
  });
}

Deno.test("affinity: an upstream that chooses no providers is asked for none", () => {
  const last = { target: "a/org/model", provider: "novita" };
  assertEquals(orderByAffinity(TARGETS, last, policiesOf).map(({ pinned }) => pinned), [undefined, undefined]);
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
