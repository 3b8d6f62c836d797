import {
  assert,
  assertEquals,
  assertGreater,
  assertLessOrEqual,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import fc from "fast-check";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { JSON_LIMITS } from "../../src/canonical/json_limits.ts";
import { type ErrorCode, GatewayError, toGatewayError } from "../../src/errors.ts";
import { type BodyLimits, readJsonBody } from "../../src/http/body.ts";
import { withFakeClock } from "../support/fake_clock.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const MIB = 2 ** 20;
const LIMITS: BodyLimits = { limitBytes: MIB, timeoutMs: 10_000 };

const VALUE = { model: "m", messages: [{ role: "user", content: "Grüße, 世界 👋 ".repeat(50) }] };
const JSON_BYTES = new TextEncoder().encode(JSON.stringify(VALUE));

/** One row for each form of each coding: its name in the header and how a client makes it. */
const CODINGS: Record<string, { header: string; compress: (bytes: Uint8Array) => Bytes }> = {
  gzip: { header: "gzip", compress: (bytes) => new Uint8Array(gzipSync(bytes)) },
  "x-gzip": { header: "x-gzip", compress: (bytes) => new Uint8Array(gzipSync(bytes)) },
  br: { header: "br", compress: brotli },
  zstd: { header: "zstd", compress: (bytes) => new Uint8Array(zstdCompressSync(bytes)) },
  "deflate as zlib": { header: "deflate", compress: (bytes) => new Uint8Array(deflateSync(bytes)) },
  "deflate, raw": { header: "deflate", compress: (bytes) => new Uint8Array(deflateRawSync(bytes)) },
};

function brotli(bytes: Uint8Array): Bytes {
  return new Uint8Array(brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }));
}

function post(body: BodyInit | null, headers: Record<string, string> = {}): Request {
  return new Request("http://gateway/oss/v1/chat/completions", { method: "POST", body, headers });
}

function inChunks(chunks: Iterable<Bytes>): ReadableStream<Bytes> {
  return ReadableStream.from(chunks);
}

async function refusal(request: Request, code: ErrorCode, limits: Partial<BodyLimits> = {}): Promise<GatewayError> {
  const error = await assertRejects(() => readJsonBody(request, { ...LIMITS, ...limits }), GatewayError);
  assertEquals(error.code, code, error.message);
  return error;
}

Deno.test("a JSON body is read, whatever its type", async () => {
  for (const value of [VALUE, {}, [], "text", 12.5, true, null]) {
    assertEquals(await readJsonBody(post(JSON.stringify(value)), LIMITS), value);
  }
});

Deno.test("a byte order mark before the JSON is skipped", async () => {
  assertEquals(await readJsonBody(post("\uFEFF{}"), LIMITS), {});
});

Deno.test("a replacement character that the client wrote is kept", async () => {
  assertEquals(await readJsonBody(post('{"a":"\uFFFD"}'), LIMITS), { a: "\uFFFD" });
});

Deno.test("a body in one-byte chunks is read, in every coding", async () => {
  const chunks = (bytes: Bytes) => inChunks(Array.from(bytes, (byte) => Uint8Array.of(byte)));
  assertEquals(await readJsonBody(post(chunks(JSON_BYTES)), LIMITS), VALUE);
  for (const { header, compress } of Object.values(CODINGS)) {
    const request = post(chunks(compress(JSON_BYTES)), { "content-encoding": header });
    assertEquals(await readJsonBody(request, LIMITS), VALUE);
  }
});

Deno.test("a body is the same however it is cut, and whatever its declared length", async () => {
  const json = fc.json({ maxDepth: 4 });
  await fc.assert(
    fc.asyncProperty(
      json,
      fc.array(fc.nat(400)),
      fc.option(fc.integer({ min: -9, max: 999 })),
      async (text, cuts, n) => {
        const bytes = new TextEncoder().encode(text);
        const bounds = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const chunks = bounds.slice(1).map((end, index) => bytes.slice(bounds[index], end));
        const headers: Record<string, string> = n === null ? {} : { "content-length": String(n) };
        assertEquals(await readJsonBody(post(inChunks(chunks), headers), LIMITS), JSON.parse(text));
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("a key named __proto__ changes no prototype", async () => {
  const body = await readJsonBody(
    post('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}'),
    LIMITS,
  );
  assertEquals(Object.getPrototypeOf(body), Object.prototype);
  assertEquals(Object.keys(Object(body)), ["__proto__", "constructor"]);
  assertEquals(Reflect.get({}, "admin"), undefined);
});

// What is not JSON

Deno.test("an empty body says that it is empty", async () => {
  for (const body of [null, "", new Uint8Array(), inChunks([])]) {
    assertEquals((await refusal(post(body), "invalid_request")).message, "The body is empty: expected a JSON object");
  }
  await refusal(post("", { "content-encoding": "zstd" }), "invalid_request");
});

Deno.test("a body that is not UTF-8 is refused", async () => {
  for (const bytes of [[0x22, 0xff, 0x22], [0x22, 0xc3, 0x22], [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]]) {
    const error = await refusal(post(Uint8Array.from(bytes)), "invalid_request");
    assertEquals(error.message, "The body is not valid UTF-8");
  }
});

const MISTAKES: [body: string, message: string][] = [
  ["hello", "unexpected character at position 0"],
  ["<html>", "unexpected character at position 0"],
  ["'{}'", "unexpected character at position 0"],
  ["   ", "unexpected end at position 3"],
  ["{", "unexpected end at position 1"],
  ['{"a":[1,"b', "unexpected end at position 10"],
  ["[1,", "unexpected end at position 3"],
  ['{"a": hello}', "unexpected character at position 6"],
  ['{"a":}', "unexpected character at position 5"],
  ['{"a":1,}', "unexpected character at position 7"],
  ["[[],1,]", "unexpected character at position 6"],
  ["[1,,2]", "unexpected character at position 3"],
  ["[1 2]", "unexpected character at position 3"],
  ["{a:1}", "unexpected character at position 1"],
  ["{} {}", "unexpected character at position 3"],
  ['["a\nb"]', "unexpected character at position 3"],
  ['{"\\"[,]": NaN}', "unexpected character at position 10"],
  ['["\\\\", -1.5e+3, null, undefined]', "unexpected character at position 22"],
];

for (const [body, message] of MISTAKES) {
  Deno.test(`what is not JSON is refused with its position: ${JSON.stringify(body)}`, async () => {
    assertEquals((await refusal(post(body), "invalid_request")).message, `The body is not JSON: ${message}`);
  });
}

Deno.test("what comes before the position of a mistake is no mistake", async () => {
  const position = async (text: string) => {
    const { message } = await refusal(post(text), "invalid_request");
    return Number(/^The body is not JSON: unexpected (?:character|end) at position (\d+)$/.exec(message)?.[1]);
  };
  const isJson = (text: string) => {
    try {
      return JSON.parse(text), true;
    } catch {
      return false;
    }
  };
  const junk = fc.constantFrom(..."@,:[]{}\"'\\\n-.e1tx \u00e9");
  await fc.assert(
    fc.asyncProperty(fc.json({ maxDepth: 3 }), fc.nat(200), junk, async (json, nat, char) => {
      const cut = nat % (json.length + 1);
      const text = json.slice(0, cut) + char + json.slice(cut);
      fc.pre(!isJson(text));
      const at = await position(text);
      assertLessOrEqual(at, text.length);
      const before = text.slice(0, at).replace(/[a-z]+$/, ""); // half a word is a mistake of its own
      if (before !== "" && !isJson(before)) assertEquals(await position(before), before.length);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("no error holds anything of the body", async () => {
  const secret = "hunter2-and-some-more";
  for (const body of [secret, `{"${secret}": ${secret}}`, `["${secret}", oops]`, `{"a":"${secret}"`, `"${secret}\n"`]) {
    const error = await refusal(post(body), "invalid_request");
    assert(!Deno.inspect(error, { depth: 10 }).includes("hunter2"), error.message);
  }
});

Deno.test("a long body that goes wrong at its end is refused with the position", async () => {
  const text = `["${'\\"x'.repeat(200_000)}", ${"[1, {}, true], ".repeat(10_000)}oops]`;
  const error = await refusal(post(text), "invalid_request");
  assertEquals(error.message, `The body is not JSON: unexpected character at position ${text.length - 5}`);
});

// Compression

for (const [name, { header, compress }] of Object.entries(CODINGS)) {
  Deno.test(`a compressed body is read: ${name}`, async () => {
    for (const spelling of [header, header.toUpperCase(), `identity, ${header}`, ` ${header} ,`]) {
      assertEquals(await readJsonBody(post(compress(JSON_BYTES), { "content-encoding": spelling }), LIMITS), VALUE);
    }
  });

  Deno.test(`a decompression bomb is refused: ${name}`, async () => {
    const bomb = compress(new Uint8Array(64 * MIB));
    assertGreater(MIB, bomb.length);
    const error = await refusal(post(bomb, { "content-encoding": header }), "request_too_large");
    assertEquals(error.message, "The decompressed body is larger than the limit of 1 MiB (1048576 bytes)");
  });

  Deno.test(`a body that decompresses to the limit is read, one byte more is not: ${name}`, async () => {
    const body = compress(new TextEncoder().encode(`"${"x".repeat(198)}"`));
    const headers = { "content-encoding": header };
    assertEquals(await readJsonBody(post(body, headers), { ...LIMITS, limitBytes: 200 }), "x".repeat(198));
    await refusal(post(body, headers), "request_too_large", { limitBytes: 199 });
  });

  Deno.test(`a body that is cut anywhere is refused, or was whole: ${name}`, async () => {
    const whole = compress(JSON_BYTES);
    const read: number[] = [];
    for (let length = 0; length < whole.length; length++) {
      const request = post(whole.slice(0, length), { "content-encoding": header });
      const result = await readJsonBody(request, LIMITS).catch((thrown: unknown) => toGatewayError(thrown));
      if (!(result instanceof GatewayError)) {
        assertEquals(result, VALUE);
        read.push(length);
      } else assertEquals(result.code, "invalid_request", result.message);
    }
    // A decoder may be content without the last bytes, which say only that the end was reached.
    assert(read.every((length) => length > whole.length - 8), `${read} of ${whole.length}`);
  });

  Deno.test(`a body that is not in its declared coding is refused: ${name}`, async () => {
    for (const bytes of [JSON_BYTES, new Uint8Array(99).fill(0xff), new TextEncoder().encode("secret")]) {
      const error = await refusal(post(bytes, { "content-encoding": header }), "invalid_request");
      assertEquals(error.message, `Cannot decompress the body: not valid ${header}`);
    }
  });

  Deno.test(`a corrupt body is never more than a bad request: ${name}`, async () => {
    const whole = compress(JSON_BYTES);
    for (let at = 0; at < whole.length; at += 3) {
      const bytes = whole.slice();
      bytes[at]! ^= 0xff;
      const request = post(bytes, { "content-encoding": header });
      const error = await readJsonBody(request, LIMITS).then(
        () => undefined,
        (thrown: unknown) => toGatewayError(thrown),
      );
      if (error) assert(["invalid_request", "request_too_large"].includes(error.code), `${at}: ${error.code}`);
    }
  });
}

Deno.test("arbitrary bytes in any coding are JSON or refused", async () => {
  const headers = fc.constantFrom("gzip", "br", "zstd", "deflate", "gzip, br", "zstd, deflate", "identity");
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), headers, async (bytes, header) => {
      const request = post(new Uint8Array(bytes), { "content-encoding": header });
      await readJsonBody(request, LIMITS).catch((thrown: unknown) => {
        assert(["invalid_request", "request_too_large"].includes(toGatewayError(thrown).code), String(thrown));
      });
    }),
    { numRuns: 500 },
  );
});

Deno.test("several codings are undone from the last to the first", async () => {
  const { gzip, zstd } = CODINGS;
  const twice = brotli(gzip!.compress(JSON_BYTES));
  assertEquals(await readJsonBody(post(twice, { "content-encoding": "gzip, br" }), LIMITS), VALUE);
  const thrice = zstd!.compress(twice);
  assertEquals(await readJsonBody(post(thrice, { "content-encoding": "gzip,br,identity,zstd" }), LIMITS), VALUE);
  await refusal(post(twice, { "content-encoding": "br, gzip" }), "invalid_request");
});

Deno.test("a bomb inside another coding is refused", async () => {
  const bomb = brotli(CODINGS.gzip!.compress(new Uint8Array(64 * MIB)));
  await refusal(post(bomb, { "content-encoding": "gzip, br" }), "request_too_large");
});

Deno.test("a zstd frame that asks for a huge window is refused", async () => {
  const frame = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x11, 0x00, 0x00, 0x7b, 0x7d]);
  await refusal(post(frame), "invalid_request");
  frame[5] = 0x50; // 1 MiB
  assertEquals(await readJsonBody(post(frame), LIMITS), {});
});

Deno.test("compression whose header was lost is seen by its first bytes", async () => {
  for (const { compress } of [CODINGS.gzip!, CODINGS.zstd!]) {
    assertEquals(await readJsonBody(post(compress(JSON_BYTES)), LIMITS), VALUE);
    assertEquals(await readJsonBody(post(compress(JSON_BYTES), { "content-encoding": "identity" }), LIMITS), VALUE);
    await refusal(post(compress(new Uint8Array(64 * MIB))), "request_too_large");
  }
});

Deno.test("a coding that is not known is refused with those that are", async () => {
  for (const coding of ["compress", "gzip, snappy", "constructor", "__proto__", "*"]) {
    const { message } = await refusal(post("{}", { "content-encoding": coding }), "unsupported_media_type");
    assertStringIncludes(message, "gzip, br, zstd, deflate or identity");
    assertStringIncludes(message, coding.split(", ").at(-1)!);
  }
  const { message } = await refusal(post("{}", { "content-encoding": "a".repeat(20_000) }), "unsupported_media_type");
  assertGreater(200, message.length);
});

Deno.test("more than three codings are refused", async () => {
  const { message } = await refusal(post("{}", { "content-encoding": "br, br, br, br" }), "unsupported_media_type");
  assertEquals(message, "Cannot decode more than 3 content-encodings");
});

// Limits

Deno.test("a body of the limit is read, one byte more is not", async () => {
  const body = `"${"x".repeat(198)}"`;
  for (const source of [() => post(body), () => post(body, { "content-length": "200" })]) {
    assertEquals(await readJsonBody(source(), { ...LIMITS, limitBytes: 200 }), "x".repeat(198));
    const error = await refusal(source(), "request_too_large", { limitBytes: 199 });
    assertEquals(error.message, "The body is larger than the limit of 199 bytes");
  }
});

Deno.test("a body whose declared length is above the limit is refused before it is read", async () => {
  for (const coding of ["identity", "gzip"]) {
    let pulled = false;
    const body = new ReadableStream({ pull: () => void (pulled = true) }, { highWaterMark: 0 });
    const request = post(body, { "content-encoding": coding, "content-length": String(30 * MIB + 1) });
    const error = await refusal(request, "request_too_large", { limitBytes: 30 * MIB });
    assertEquals(error.message, "The body is larger than the limit of 30 MiB (31457280 bytes)");
    assertEquals(pulled, false);
  }
});

Deno.test("a body without a length is read up to the limit and no further", async () => {
  let sent = 0;
  let cancelled = false;
  const body = new ReadableStream<Bytes>({
    pull(controller) {
      sent += 65_536;
      controller.enqueue(new Uint8Array(65_536));
    },
    cancel: () => void (cancelled = true),
  }, { highWaterMark: 0 });
  await refusal(post(body), "request_too_large");
  assert(cancelled);
  assertLessOrEqual(sent, MIB + 2 * 65_536);
});

// Time and the network

Deno.test("a body that does not come in time is refused and cancelled", async () => {
  let cancelled = false;
  const body = new ReadableStream<Bytes>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    cancel: () => void (cancelled = true),
  });
  const error = await refusal(post(body), "request_timeout", { timeoutMs: 20 });
  assertEquals(error.message, "Cannot read the body: it took longer than 0.02 s");
  assert(cancelled);
});

Deno.test("a body that comes is waited for, one that stops in the middle is not", async () => {
  await withFakeClock(async (clock) => {
    async function* slow() {
      for (const piece of ["{", '"a"', ":", "1", "}"]) {
        await new Promise((resolve) => setTimeout(resolve, 59));
        yield new TextEncoder().encode(piece);
      }
    }
    const body = readJsonBody(post(ReadableStream.from(slow())), { ...LIMITS, stallMs: 60 });
    await clock.advance(5 * 59);
    assertEquals(await body, { a: 1 });
  });
  const silent = new ReadableStream<Bytes>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
  });
  const error = await refusal(post(silent), "request_timeout", { stallMs: 20 });
  assertEquals(error.message, "Cannot read the body: nothing came for 0.02 s");
});

Deno.test("a source that also fails to cancel is refused the same way", async () => {
  const body = new ReadableStream<Bytes>({ cancel: () => Promise.reject(new Error("no")) });
  await refusal(post(body), "request_timeout", { timeoutMs: 20 });
});

Deno.test("a body that breaks off is the client's doing", async () => {
  const body = new ReadableStream<Bytes>({ pull: (controller) => controller.error(new Error("gone")) });
  await refusal(post(body), "client_closed");
});

/** A real server that reads bodies, and a way to speak to it byte by byte. */
async function overSocket(
  limits: Partial<BodyLimits>,
  talk: (client: Deno.TcpConn, outcome: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const outcome = Promise.withResolvers<unknown>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const result = await readJsonBody(request, { ...LIMITS, ...limits }).catch((thrown: unknown) => thrown);
    outcome.resolve(result);
    const status = result instanceof GatewayError && result.code !== "client_closed" ? result.status : 200;
    return new Response("answered", { status });
  });
  const client = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  try {
    await talk(client, outcome.promise);
  } finally {
    try {
      client.close();
    } catch { /* the test closed it */ }
    await server.shutdown();
  }
}

async function send(client: Deno.TcpConn, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let sent = 0; sent < bytes.length;) sent += await client.write(bytes.subarray(sent));
}

/** Reads until the answer's body is there. */
async function receive(client: Deno.TcpConn): Promise<string> {
  const buffer = new Uint8Array(4096);
  let text = "";
  while (!text.includes("answered")) {
    const length = await client.read(buffer);
    if (length === null) break;
    text += new TextDecoder().decode(buffer.subarray(0, length));
  }
  return text;
}

const HEAD = "POST / HTTP/1.1\r\nhost: localhost\r\n";

// A small body that a server brought is read at once, any other one in pieces.
for (const [how, isServed] of [["", false], [", from a server", true]] as const) {
  Deno.test(`over a socket${how}: a body in small pieces is read`, async () => {
    await overSocket({ isServed }, async (client, outcome) => {
      await send(client, `${HEAD}transfer-encoding: chunked\r\n\r\n`);
      for (const byte of '{"a":1}') await send(client, `1\r\n${byte}\r\n`);
      await send(client, "0\r\n\r\n");
      assertStringIncludes(await receive(client), "HTTP/1.1 200");
      assertEquals(await outcome, { a: 1 });
    });
  });

  Deno.test(`over a socket${how}: a body that is too large is answered before it is sent`, async () => {
    await overSocket({ isServed }, async (client) => {
      await send(client, `${HEAD}content-length: 31457280\r\n\r\n`);
      assertStringIncludes(await receive(client), "HTTP/1.1 413");
    });
  });

  Deno.test(`over a socket${how}: a body that turns out too large is answered while it is sent`, async () => {
    await overSocket({ isServed, limitBytes: 1000 }, async (client) => {
      await send(client, `${HEAD}transfer-encoding: chunked\r\n\r\n800\r\n${"x".repeat(0x800)}\r\n`);
      assertStringIncludes(await receive(client), "HTTP/1.1 413");
    });
  });

  Deno.test(`over a socket${how}: a body that stalls is answered with 408`, async () => {
    await overSocket({ isServed, timeoutMs: 50 }, async (client) => {
      await send(client, `${HEAD}content-length: 100\r\n\r\n{"a":`);
      assertStringIncludes(await receive(client), "HTTP/1.1 408");
    });
  });

  for (const framing of ["content-length: 100\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"]) {
    Deno.test(`over a socket${how}: a client that leaves while it sends is told apart (${framing.split(":")[0]})`, async () => {
      await overSocket({ isServed }, async (client, outcome) => {
        await send(client, HEAD + framing);
        client.close();
        assertEquals(toGatewayError(await outcome).code, "client_closed");
      });
    });
  }

  Deno.test(`over a socket${how}: a small body is read, in one packet or in several`, async () => {
    for (const cut of [0, 1, 6]) {
      await overSocket({ isServed }, async (client, outcome) => {
        await send(client, `${HEAD}content-length: 7\r\n\r\n${'{"a":1}'.slice(0, cut)}`);
        if (cut > 0) await new Promise((resolve) => setTimeout(resolve, 5));
        await send(client, '{"a":1}'.slice(cut));
        assertStringIncludes(await receive(client), "HTTP/1.1 200");
        assertEquals(await outcome, { a: 1 });
      });
    }
  });
}

Deno.test("a content-length beside chunks, of which it says nothing, does not lift the limit", async () => {
  const headers = { "content-length": "10", "transfer-encoding": "chunked" };
  const isServed = true;
  const body = new Blob(["x".repeat(2_000)]).stream();
  await refusal(post(body, headers), "request_too_large", { isServed, limitBytes: 1_000 });
});

// Depth

const DEEP = { ...LIMITS, json: { ...JSON_LIMITS, depth: 5 } };

Deno.test("a body that is nested too deep is refused before it is parsed, and one that only looks so is not", async () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  assertEquals(await readJsonBody(post(nested(5)), DEEP), [[[[[]]]]]);
  await assertRejects(() => readJsonBody(post(nested(6)), DEEP), GatewayError, "nested deeper than 5 levels");
  await assertRejects(
    () => readJsonBody(post(`{"a":`.repeat(6) + "1" + "}".repeat(6)), DEEP),
    GatewayError,
    "nested deeper",
  );
  // Unclosed, and a million times.
  await assertRejects(() => readJsonBody(post("[".repeat(900_000)), DEEP), GatewayError, "nested deeper");
  for (const text of ["[[[[[[[", '"[[[[[[[', '\\"[[[[[[[', "\\\\"]) {
    const body = { a: text, b: [text, "\\", text] };
    assertEquals(await readJsonBody(post(JSON.stringify(body)), DEEP), body);
  }
  const siblings = Array.from({ length: 100 }, () => [[]]);
  assertEquals(await readJsonBody(post(JSON.stringify(siblings)), DEEP), siblings);
});

// Values

Deno.test("a body of more JSON than is made of one is refused before any of it is made", async () => {
  const bomb = (unit: string) => `{"model":"m","messages":[${unit.repeat(10_000_000)}1]}`;
  const names = Array.from({ length: JSON_LIMITS.names + 1 }, (_, at) => `"k${at}":1`).join(",");
  const bodies = [
    ...["{},", "[],", '"",', "null,", "true,", '{"a":1},'].map((unit) => [bomb(unit), "more than 200000 JSON values"]),
    [`{"model":"m",${names}}`, "more than 20000 distinct field names"],
  ] as const;
  const parse = JSON.parse;
  let parsed = 0;
  JSON.parse = (...given) => {
    parsed++;
    return parse(...given);
  };
  try {
    for (const [text, problem] of bodies) {
      // Of all codings, this one never makes them so much smaller that they are refused for that.
      const small = new Uint8Array(gzipSync(text!, { level: 1 }));
      const request = new Request("http://gateway", {
        method: "POST",
        body: small,
        headers: { "content-encoding": "gzip" },
      });
      const reading = readJsonBody(request, { limitBytes: 2 ** 27, timeoutMs: 60_000 });
      const { code } = await assertRejects(() => reading, GatewayError, `The body contains ${problem}`);
      assertEquals(code, "invalid_request");
    }
  } finally {
    JSON.parse = parse;
  }
  assertEquals(parsed, 0);
});

// How much a body may become

Deno.test("what 96 bytes become is refused, and told how it passes; the same body passes uncompressed", async () => {
  const text = JSON.stringify({ a: "a".repeat(31_000_000) });
  const limits = { limitBytes: 2 ** 25, timeoutMs: 60_000 };
  for (const [header, bytes] of [["br", brotliCompressSync(text)], ["zstd", zstdCompressSync(text)]] as const) {
    const request = post(new Uint8Array(bytes), { "content-encoding": header });
    const { code, message } = await assertRejects(() => readJsonBody(request, limits), GatewayError);
    assertEquals(code, "request_too_large");
    assertEquals(
      message,
      `The body decompresses to more than 1000 times its ${bytes.length} bytes: send it uncompressed`,
    );
  }
  const { a } = await readJsonBody(post(text), limits) as { a: string };
  assertEquals(a.length, 31_000_000);
});

for (const [lines, ratio] of [[2_600, 500], [5_000, 700]] as const) {
  Deno.test(`a history in which an agent read a log of ${lines} lines 60 times is read, compressed with zstd`, async () => {
    const line = (at: number) =>
      `12:${at % 60}:00 GET /v1/items/${
        (at * 7_919) % 10_007
      } 200 in the morning, as usual, and nothing was wrong with it\n`;
    const output = Array.from({ length: lines }, (_, at) => line(at)).join("");
    const turn = (at: number) => ({ type: "function_call_output", call_id: `call_${at}`, output });
    const text = JSON.stringify({ input: Array.from({ length: 60 }, (_, at) => turn(at)) });
    const bytes = new Uint8Array(zstdCompressSync(text));
    assert(text.length / bytes.length > ratio, `${text.length / bytes.length}:1`);
    const limits = { limitBytes: 2 ** 25, timeoutMs: 60_000 };
    assertEquals(await readJsonBody(post(bytes, { "content-encoding": "zstd" }), limits), JSON.parse(text));
  });
}
