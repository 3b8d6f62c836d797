import { assert, assertEquals } from "@std/assert";
import { createTokenizerFolder } from "../../src/tokens/tokenizer_files.ts";
import { Tokenizers } from "../../src/tokens/tokenizers.ts";
import { withFolder } from "../state/temp_folder.ts";
import { filesOf } from "./tiny_tokenizer.ts";

const HELLO = { messages: [{ role: "user", content: "hello" }], variables: {} };
const DAY_MS = 86_400_000;

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("what was written is read again, by another gateway too, and nothing half-written is left", () =>
  withFolder(async (path) => {
    const below = `${path}/tokenizers`;
    const files = filesOf();
    await createTokenizerFolder({ path: below, now: Date.now }).write("hub/org/model", files);
    const other = createTokenizerFolder({ path: below, now: Date.now });
    assertEquals(await other.read("hub/org/model"), { files, isOld: false });
    assertEquals(await other.read("hub/org/other"), undefined);
    assertEquals(namesIn(below), ["hub%2Forg%2Fmodel"]);
    await other.write("hub/org/model", { vocabulary: files.vocabulary });
    assertEquals((await other.read("hub/org/model"))?.files.template, undefined);
    await other.remove("hub/org/model");
    assertEquals(await other.read("hub/org/model"), undefined);
  }));

Deno.test("folders that it makes on the way are its owner's alone, as the store's is", () =>
  withFolder(async (path) => {
    await createTokenizerFolder({ path: `${path}/laneway/tokenizers`, now: Date.now }).write("a", filesOf());
    assertEquals((await Deno.stat(`${path}/laneway`)).mode! & 0o077, 0);
  }));

Deno.test("a name leads nowhere but into the folder", () =>
  withFolder(async (path) => {
    const folder = createTokenizerFolder({ path: `${path}/tokenizers`, now: Date.now });
    for (const model of ["../../outside", "/etc/passwd", "a/../../b"]) await folder.write(model, filesOf());
    assertEquals(namesIn(path), ["tokenizers"]);
  }));

Deno.test("above its limit the folder gives up what was written longest ago", () =>
  withFolder(async (path) => {
    const vocabulary = new Uint8Array(1_000);
    const folder = createTokenizerFolder({ path, now: Date.now, limitBytes: 2_500 });
    for (const [at, model] of ["a", "b", "c"].entries()) {
      await folder.write(model, { vocabulary });
      await Deno.utime(`${path}/${model}/tokenizer.json`, 1_000 + at, 1_000 + at).catch(() => {});
    }
    await folder.write("d", { vocabulary });
    assertEquals(namesIn(path), ["c", "d"]);
  }));

Deno.test("a folder that cannot be written to costs nothing", async () => {
  const folder = createTokenizerFolder({ path: "/dev/null/tokenizers", now: Date.now });
  await folder.write("a", filesOf());
  assertEquals(await folder.read("a"), undefined);
});

Deno.test("a model is downloaded once for all starts, again after a week, and kept where that fails", () =>
  withFolder(async (path) => {
    let downloads = 0;
    const start = async (now: number, fails = false) => {
      const tokenizers = new Tokenizers({
        download: () => {
          downloads++;
          return fails ? Promise.reject(new TypeError("offline")) : Promise.resolve(filesOf());
        },
        folder: createTokenizerFolder({ path, now: () => now }),
        now: () => now,
        pace: { patienceMs: 60_000, jobMs: 60_000 },
      });
      try {
        return await tokenizers.count("hub", "org/model", HELLO);
      } finally {
        tokenizers.close();
      }
    };
    const tokens = await start(Date.now());
    assertEquals([await start(Date.now()), downloads], [tokens, 1]);
    const later = Date.now() + 8 * DAY_MS;
    assertEquals([await start(later, true), downloads], [tokens, 2]);
    assertEquals([await start(later), downloads], [tokens, 3]);
  }));

Deno.test("files that were spoilt on the disk are thrown away", () =>
  withFolder(async (path) => {
    const folder = createTokenizerFolder({ path, now: Date.now });
    await folder.write("hub/org/model", { ...filesOf(), vocabulary: new TextEncoder().encode("{") });
    let ms = 0;
    const tokenizers = new Tokenizers({
      download: () => Promise.resolve(filesOf()),
      folder,
      now: () => ms,
      pace: { patienceMs: 60_000, jobMs: 60_000 },
    });
    try {
      assertEquals(await tokenizers.count("hub", "org/model", HELLO).catch(() => "none"), "none");
      ms = 3_600_000;
      assert(await tokenizers.count("hub", "org/model", HELLO) > 0);
    } finally {
      tokenizers.close();
    }
  }));
