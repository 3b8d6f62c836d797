/** Records that no gateway has written: somebody else can write to the server, too. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { zstdCompressSync } from "node:zlib";
import { readRecord, writeRecord } from "../../../src/state/redis/records.ts";

const HEAD = "9007199254740991" + "stampstampst";

function packed(...pieces: [says: [number, number], bytes: Uint8Array][]): Uint8Array {
  const parts = pieces.flatMap(([[length, plain], bytes]) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setUint32(0, length);
    view.setUint32(4, plain);
    return [new Uint8Array(view.buffer), bytes];
  });
  return Uint8Array.from(
    [HEAD + "z"].map((text) => [...new TextEncoder().encode(text)]).concat(parts.map((one) => [...one])).flat(),
  );
}

const plain = (text: string) => new TextEncoder().encode(text);

const HOSTILE: Record<string, Uint8Array> = {
  "no form": plain(HEAD),
  "a form of the future": plain(`${HEAD}{"version":9}`),
  "no JSON": plain(`${HEAD}jhello`),
  "no piece": packed([[4, 4], plain("abcd")]),
  "a piece that is cut": packed([[900, 900], zstdCompressSync(plain("x".repeat(900))).subarray(0, 12)]),
  "a piece of no length": packed([[0, 0], plain("")]),
  "lengths that are cut": plain(`${HEAD}zabc`),
};

for (const [what, record] of Object.entries(HOSTILE)) {
  Deno.test(`records: of ${what} nothing is read`, async () => void await assertRejects(() => readRecord(record, 0)));
}

Deno.test("records: a few bytes that stand for gigabytes fill no memory", async () => {
  const bomb = zstdCompressSync(new Uint8Array(200_000_000));
  const record = packed([[bomb.length, 200_000_000], bomb]);
  const before = Deno.memoryUsage().rss;
  const error = await assertRejects(() => readRecord(record, 0), RangeError);
  assert(error.message.includes("262144"), error.message);
  assert(Deno.memoryUsage().rss - before < 100_000_000);
});

Deno.test("records: what is written is read, up to when it expires", async () => {
  for (const value of [1, "x".repeat(1_000_000), { a: ["\ufeff", "ключ".repeat(200_000)] }]) {
    const record = await writeRecord(value, 10);
    assertEquals([await readRecord(record, 9), await readRecord(record, 10)], [value, undefined]);
  }
  assertEquals(await readRecord(null, 0), undefined);
});
