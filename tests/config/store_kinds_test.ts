import { assertEquals } from "@std/assert";
import { kindsThat, STORE_KIND_NAMES, STORE_KINDS, storeKind } from "../../src/config/store_kinds.ts";
import { MEMORY_STORE_BYTES } from "../../src/state/memory_store.ts";

const SRC = new URL("../../src/", import.meta.url);

function* sourcesIn(folder: URL): Generator<[path: string, text: string]> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* sourcesIn(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield [new URL(name, folder).pathname, Deno.readTextFileSync(new URL(name, folder))];
  }
}

Deno.test("store kinds: a configuration that names none, or one that there is not, has a file", () => {
  for (const name of [undefined, "toString", "", 1, null]) assertEquals(storeKind(name), STORE_KINDS.kv);
  assertEquals(storeKind("redis").isShared, true);
});

Deno.test("store kinds: messages name those that can what is asked for", () => {
  assertEquals(kindsThat("isLasting"), '"kv" or "redis"');
  assertEquals(kindsThat("isShared"), '"redis"');
});

Deno.test("store kinds: one key leaves a quarter of the memory to others", () => {
  assertEquals(STORE_KINDS.memory.bytesPerKey, MEMORY_STORE_BYTES * 3 / 4);
});

Deno.test("store kinds: nobody compares a kind with a name", () => {
  const compared = new RegExp(`\\bkind [!=]== "(${STORE_KIND_NAMES.join("|")})"`, "g");
  const found = [...sourcesIn(SRC)].flatMap(([path, text]) =>
    [...text.matchAll(compared)].map(([it]) => `${path}: ${it}`)
  );
  assertEquals(found, []);
});
