/** Pages that are the same for everybody: compressed where the client can read that, and not sent again to whoever has them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { newApp } from "../support/app.ts";

const PAGES = ["/openapi.json", "/docs", "/console/", "/console/app.js", "/console/style.css"];
const app = newApp();
const UNPACK: Record<string, (bytes: Uint8Array) => Uint8Array> = { br: brotliDecompressSync, gzip: gunzipSync };

for (const path of PAGES) {
  Deno.test(`kept pages: ${path} is compressed as the client can read it, and is the same text`, async () => {
    const plain = await app.get(path);
    assertEquals([plain.headers.get("content-encoding"), plain.headers.get("vary")], [null, "accept-encoding"]);
    const text = await plain.text();
    for (const [coding, unpack] of Object.entries(UNPACK)) {
      const response = await app.get(path, { "accept-encoding": coding });
      const { headers } = response;
      assertEquals([response.status, headers.get("content-encoding"), headers.get("vary")], [
        200,
        coding,
        "accept-encoding",
      ]);
      assertEquals(headers.get("content-type"), plain.headers.get("content-type"));
      assertEquals(headers.get("content-security-policy"), plain.headers.get("content-security-policy"));
      const bytes = await response.bytes();
      assertEquals(headers.get("content-length"), String(bytes.length));
      assert(bytes.length < text.length, `${bytes.length} of ${text.length}`);
      assertEquals(new TextDecoder().decode(unpack(bytes)), text);
    }
  });

  Deno.test(`kept pages: ${path} is not sent again to whoever has it`, async () => {
    const first = await app.get(path, { "accept-encoding": "gzip" });
    const tag = first.headers.get("etag")!;
    assertMatch(tag, /^W\/"[\w+/=-]+"$/);
    assertEquals(first.headers.get("cache-control"), "no-cache");
    await first.body?.cancel();
    for (const has of [tag, tag.slice(2), `"other", ${tag}`, `"other",${tag}`, "*"]) {
      const again = await app.get(path, { "if-none-match": has, "accept-encoding": "br" });
      assertEquals([again.status, await again.text()], [304, ""], has);
      const { headers } = again;
      assertEquals([headers.get("etag"), headers.get("vary"), headers.get("cache-control")], [
        tag,
        "accept-encoding",
        "no-cache",
      ]);
      assertEquals([headers.get("content-type"), headers.get("content-encoding")], [null, null]);
    }
    for (const has of ['"other"', "", tag.slice(0, -2)]) {
      const again = await app.get(path, { "if-none-match": has });
      assertEquals([again.status, again.headers.get("etag")], [200, tag], has);
      await again.body?.cancel();
    }
  });

  Deno.test(`kept pages: HEAD of ${path} has the headers of GET and no body`, async () => {
    for (const [headers, status] of [[{ "accept-encoding": "gzip" }, 200], [{ "if-none-match": "*" }, 304]] as const) {
      const get = await app.get(path, headers);
      await get.body?.cancel();
      const head = await app.fetch(new Request(`http://gateway${path}`, { method: "HEAD", headers }));
      assertEquals([head.status, await head.text()], [status, ""]);
      assertEquals([...head.headers], [...get.headers]);
    }
  });
}

const CODINGS: readonly (readonly [accepted: string | undefined, coding: string | null])[] = [
  [undefined, null],
  ["", null],
  ["gzip, deflate, br, zstd", "gzip"],
  ["br;q=1, gzip;q=0.8, *;q=0.1", "br"],
  ["gzip;q=0.5, br;q=0.9", "br"],
  ["GZIP", "gzip"],
  ["*", "br"],
  ["identity, gzip;q=0.5", null],
  ["gzip;q=0", null],
  ["gzip;Q=0, identity", null],
  ["identity;q=0, *;q=0", null],
  ["deflate, zstd", null],
  ["gzip".repeat(7_000), null],
  ["a,".repeat(15_000), null],
];

for (const [accepted, coding] of CODINGS) {
  Deno.test(`kept pages: what the client can read decides · ${accepted?.slice(0, 40)}`, async () => {
    const response = await app.get("/console/app.js", accepted === undefined ? {} : { "accept-encoding": accepted });
    assertEquals([response.status, response.headers.get("content-encoding")], [200, coding]);
    await response.body?.cancel();
  });
}

Deno.test("kept pages: a client over a connection reads the text", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => app.fetch(request));
  try {
    const url = `http://127.0.0.1:${server.addr.port}`;
    for (const path of PAGES) {
      const expected = await (await app.get(path)).text();
      const response = await fetch(url + path, { headers: { "accept-encoding": "gzip, br" } });
      assertEquals(await response.text(), expected, path);
    }
  } finally {
    await server.shutdown();
  }
});

Deno.test("kept pages: a tag that is long takes no longer to read than a short one", async () => {
  const has = `"a${" ".repeat(31_000)}b"`;
  const began = process.cpuUsage();
  const response = await app.get("/console/app.js", { "if-none-match": has });
  assertEquals(response.status, 200);
  await response.body?.cancel();
  const { user } = process.cpuUsage(began);
  assert(user < 300_000, `${user} µs of CPU`);
});

Deno.test("kept pages: what the API answers is neither compressed nor kept", async () => {
  const response = await app.get("/oss/v1/models", { "accept-encoding": "gzip, br" });
  assertEquals([response.headers.get("content-encoding"), response.headers.get("etag")], [null, null]);
  assertStringIncludes(await response.text(), "data");
});
