/** Files of several owners, whatever they do in whichever order: held against a list. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { GatewayError } from "../../src/errors.ts";
import {
  createFileContents,
  type FileContents,
  inFolder,
  inStore,
  PIECE_BYTES,
} from "../../src/state/file_contents.ts";
import { createFiles, type Files } from "../../src/state/files.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { law } from "../support/law.ts";

const LIMITS = { bytesPerKey: 60_000, totalBytes: 90_000, filesPerKey: 4 };
/** What each file counts beside its bytes. */
const BESIDE = 4_000;

interface Kept {
  id: string;
  owner: string;
  content: string;
  expires: number;
}

type Act =
  | { does: "create"; owner: string; bytes: number; keepMs?: number }
  | { does: "delete" | "read"; owner: string; at: number }
  | { does: "wait"; ms: number };

const owners = fc.constantFrom("one", "two");
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant("create" as const),
      owner: owners,
      bytes: fc.nat(30_000),
      keepMs: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
    }),
  },
  fc.record({ does: fc.constantFrom("delete" as const, "read" as const), owner: owners, at: fc.nat(9) }),
  fc.record({ does: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 60 }) }),
);

async function contentOf(files: Files, owner: string, id: string): Promise<string> {
  const { content } = await files.read(owner, id);
  return (await Array.fromAsync(content, (piece) => new TextDecoder().decode(piece))).join("");
}

const codeOf = (thrown: unknown) =>
  thrown instanceof GatewayError ? thrown.details.reason ?? thrown.code : String(thrown);

law(
  "files: what is there is what was kept and not deleted, within the bounds",
  fc.array(act, { maxLength: 25 }),
  async (acts) => {
    let now = 1_000;
    const store = createMemoryStore({ now: () => now, limitBytes: 1e9 });
    const key = () => Promise.resolve(new Uint8Array(32));
    const contents = createFileContents(inStore(store, 1_000), key);
    // Two gateways on one store.
    const gateways = [0, 1].map(() => createFiles({ store, contents, ...LIMITS, now: () => now, patienceMs: 1_000 }));
    let kept: Kept[] = [];
    for (const [step, one] of acts.entries()) {
      const files = gateways[step % 2]!;
      kept = kept.filter(({ expires }) => expires > now);
      if (one.does === "wait") {
        now += one.ms;
        continue;
      }
      const own = kept.filter(({ owner }) => owner === one.owner);
      if (one.does === "create") {
        const content = String(step % 10).repeat(one.bytes);
        const held = (all: Kept[]) =>
          all.reduce((sum, { content }) => sum + content.length + BESIDE, one.bytes + BESIDE);
        const isFull = own.length >= LIMITS.filesPerKey || held(own) > LIMITS.bytesPerKey ||
          held(kept) > LIMITS.totalBytes;
        const id = `id${step}`;
        const facts = { name: `n${step}`, mediaType: "text/plain", keepMs: one.keepMs };
        const made = await files.create(one.owner, id, facts, new TextEncoder().encode(content)).then(() => "", codeOf);
        assertEquals(made, isFull ? "storage_quota_exceeded" : "");
        if (!isFull) kept.push({ id, owner: one.owner, content, expires: now + (one.keepMs ?? Infinity) });
      } else {
        // Now and then somebody else's.
        const target = kept[one.at];
        const isOwn = target?.owner === one.owner;
        const id = target?.id ?? "none";
        if (one.does === "read") {
          const found = await contentOf(files, one.owner, id).catch(codeOf);
          assertEquals(found, isOwn ? target.content : "not_found");
        } else {
          assertEquals(await files.delete(one.owner, id).then(() => "", codeOf), isOwn ? "" : "not_found");
          if (isOwn) kept = kept.filter((other) => other !== target);
        }
      }
      for (const owner of ["one", "two"]) {
        const there = (await gateways[0]!.list(owner)).map(({ id, name }) => [id, name]);
        const expected = kept.filter((other) => other.owner === owner).map(({ id }) => [id, id.replace("id", "n")]);
        assertEquals(there, expected.reverse());
      }
    }
  },
);

const piece = fc.nat(2 * PIECE_BYTES);

law(
  "files: pieces of any lengths give the file back",
  fc.array(piece, { minLength: 1, maxLength: 4 }),
  async (lengths) => {
    const store = createMemoryStore({ now: () => 0, limitBytes: 1e9 });
    const contents = createFileContents(inStore(store, 1_000), () => Promise.resolve(new Uint8Array(32)));
    const limits = { bytesPerKey: 1e9, totalBytes: 1e9, filesPerKey: 9 };
    const files = createFiles({ store, contents, ...limits, now: () => 0, patienceMs: 1_000 });
    const bytes = lengths.reduce((sum, one) => sum + one, 0);
    await files.begin("one", "id", { name: "n", mediaType: "text/plain" }, bytes);
    let whole = "";
    for (const [at, length] of lengths.entries()) {
      const content = String(at).repeat(length);
      const isLast = at === lengths.length - 1;
      const { received, isComplete } = await files.append("one", "id", {
        offset: whole.length,
        content: new TextEncoder().encode(content),
        isLast,
      });
      whole += content;
      assertEquals([received, isComplete], [whole.length, isLast]);
    }
    assertEquals(await contentOf(files, "one", "id") === whole, true);
  },
);

Deno.test("files: one of more pieces than a thousand is refused, so that no record grows with them", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1e9 });
  const contents = createFileContents(inStore(store, 1_000), () => Promise.resolve(new Uint8Array(32)));
  const limits = { bytesPerKey: 1e9, totalBytes: 1e9, filesPerKey: 9 };
  const files = createFiles({ store, contents, ...limits, now: () => 0, patienceMs: 1_000 });
  await files.begin("one", "id", { name: "n", mediaType: "no type" }, 2_000);
  const append = (offset: number) =>
    files.append("one", "id", { offset, content: new Uint8Array(1), isLast: false }).then(() => "", codeOf);
  for (let offset = 0; offset < 1_000; offset++) assertEquals(await append(offset), "");
  assertEquals(await append(1_000), "invalid_request");
  assertEquals((await files.progress("one", "id")).file.mediaType, "application/octet-stream");
});

Deno.test("files: one that is deleted while a piece of it is written leaves nothing behind", async () => {
  for (const isLast of [false, true]) {
    const store = createMemoryStore({ now: () => 0, limitBytes: 1e9 });
    const contents = createFileContents(inStore(store, 1_000), () => Promise.resolve(new Uint8Array(32)));
    const limits = { bytesPerKey: 1e9, totalBytes: 1e9, filesPerKey: 9 };
    const files: Files = createFiles({
      store,
      // The owner deletes the file before the piece is written.
      contents: {
        ...contents,
        async write(...asked) {
          await files.delete("one", "id");
          await contents.write(...asked);
        },
      },
      ...limits,
      now: () => 0,
      patienceMs: 1_000,
    });
    await files.begin("one", "id", { name: "n", mediaType: "text/plain" }, 5);
    const content = new Uint8Array(5);
    assertEquals(await files.append("one", "id", { offset: 0, content, isLast }).then(() => "", codeOf), "not_found");
    assertEquals(await store.get(["file content", "one", "id.0", 0]), undefined);
  }
});

Deno.test("files: the bound of all keys counts both uploads of a key, whichever report comes last", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1e9 });
  const contents = createFileContents(inStore(store, 1_000), () => Promise.resolve(new Uint8Array(32)));
  const options = { contents, bytesPerKey: 1e9, totalBytes: 20_000, filesPerKey: 9, now: () => 0, patienceMs: 60_000 };
  const facts = { name: "n", mediaType: "text/plain" };
  const later = createFiles({ store, ...options });
  let isFirst = true;
  const files = createFiles({
    ...options,
    store: {
      ...store,
      async update(key, change) {
        if (key[0] === "file totals" && isFirst) {
          isFirst = false;
          await later.create("one", "second", facts, new Uint8Array(5_000));
        }
        await store.update(key, change);
      },
    },
  });
  await files.create("one", "first", facts, new Uint8Array(5_000));
  const another = files.create("two", "third", facts, new Uint8Array(5_000));
  assertEquals(await another.then(() => "", codeOf), "storage_quota_exceeded");
});

const FACTS = { name: "n", mediaType: "text/plain" };
const BOUNDS = { bytesPerKey: 1e9, totalBytes: 1e9, filesPerKey: 9 };
const HOUR_MS = 3_600_000;

/** Files whose contents can be broken, on a clock. */
function breakable(bounds: Partial<typeof BOUNDS> = {}) {
  const state = { time: 0, isBroken: false };
  const now = () => state.time;
  const store = createMemoryStore({ now, limitBytes: 1e9 });
  const inner = createFileContents(inStore(store, 1_000), () => Promise.resolve(new Uint8Array(32)));
  const away = () => Promise.reject(new GatewayError("unavailable", "The folder is away"));
  const contents: FileContents = {
    ...inner,
    write: (...asked) => state.isBroken ? inner.write(...asked).then(away) : inner.write(...asked),
    remove: (...asked) => state.isBroken ? away() : inner.remove(...asked),
  };
  const gateway = () => createFiles({ store, contents, ...BOUNDS, ...bounds, now, patienceMs: 1_000 });
  const isThere = async (owner: string, id: string, part = 0) =>
    await store.get(["file content", owner, `${id}.${part}`, 0]) !== undefined;
  return { state, gateway, files: gateway(), isThere };
}

Deno.test("files: a content that could not be removed is removed later, and counts until then", async () => {
  const { state, files, isThere } = breakable({ bytesPerKey: 25_000 });
  await files.create("one", "id", FACTS, new Uint8Array(20_000));
  state.isBroken = true;
  await files.delete("one", "id");
  assertEquals([await files.list("one"), await isThere("one", "id")], [[], true]);
  assertEquals((await files.holdings()).map(({ owner, bytes, files }) => [owner, bytes, files]), [["one", 20_000, 0]]);
  const again = () => files.create("one", "next", FACTS, new Uint8Array(1_500)).then(() => "", codeOf);
  assertEquals(await again(), "storage_quota_exceeded");
  state.isBroken = false;
  // The refused upload has made the room by itself.
  assertEquals(await again(), "storage_quota_exceeded");
  assertEquals([await isThere("one", "id"), await again()], [false, ""]);
});

Deno.test("files: what an owner leaves who never comes back is removed at the requests of others", async () => {
  const { state, gateway, files, isThere } = breakable();
  await files.create("lost", "expired", { ...FACTS, keepMs: HOUR_MS }, new Uint8Array(9));
  await files.begin("lost", "begun", FACTS, 9);
  await files.add("lost", "begun", new Uint8Array(5));
  await files.create("gone", "undeleted", FACTS, new Uint8Array(9));
  state.isBroken = true;
  await files.delete("gone", "undeleted");
  state.isBroken = false;
  state.time += HOUR_MS;
  // Another process, whose first request lists.
  assertEquals(await gateway().list("other"), []);
  const left = [isThere("lost", "expired"), isThere("lost", "begun"), isThere("gone", "undeleted")];
  assertEquals(await Promise.all(left), [false, false, false]);
  assertEquals(await files.holdings(), []);
});

Deno.test("files: a piece that was written but not acknowledged, and cannot be removed, does not stay", async () => {
  const { state, files, isThere } = breakable();
  await files.begin("one", "id", FACTS, 9);
  state.isBroken = true;
  assertEquals(await files.add("one", "id", new Uint8Array(4)).then(() => "", codeOf), "unavailable");
  state.isBroken = false;
  assertEquals(await isThere("one", "id"), true);
  await files.cancel("one", "id");
  assertEquals([await isThere("one", "id"), await files.holdings()], [false, []]);
});

Deno.test("files: drafts that a process left in the folder are removed, and those of a running one are not", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const key = () => Promise.resolve(new Uint8Array(32));
    const write = (id: string) =>
      createFileContents(inFolder(folder), key).write({ owner: "one", id, part: 0 }, new Uint8Array(9), Infinity);
    const [left, running] = [`${folder}/a.sealed.1.new`, `${folder}/b.sealed.2.new`];
    for (const path of [left, running]) await Deno.writeTextFile(path, "sealed");
    const old = new Date(Date.now() - 2 * HOUR_MS);
    await Deno.utime(left, old, old);
    await write("id");
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".new"));
    assertEquals(names, ["b.sealed.2.new"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("files: a piece that is sent again is not removed with the one that failed", async () => {
  const { state, files, isThere } = breakable();
  await files.begin("one", "id", FACTS, 9);
  const piece = { offset: 0, content: new TextEncoder().encode("same"), isLast: false };
  state.isBroken = true;
  assertEquals(await files.append("one", "id", piece).then(() => "", codeOf), "unavailable");
  assertEquals((await files.progress("one", "id")).received, 0);
  state.isBroken = false;
  assertEquals((await files.append("one", "id", piece)).received, 4);
  const last = { offset: 4, content: new TextEncoder().encode(" text"), isLast: true };
  assertEquals((await files.append("one", "id", last)).isComplete, true);
  await files.begin("one", "other", FACTS, 1);
  assertEquals([await contentOf(files, "one", "id"), await isThere("one", "id", 0)], ["same text", false]);
});
