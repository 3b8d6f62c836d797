import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { FormField } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { readFormBody } from "../../src/http/multipart.ts";
import { bodyOf, piecesOf } from "../support/chunks.ts";
import { turnsDuring } from "../support/turns.ts";
import { assertCheap } from "../support/cost.ts";

type Bytes = Uint8Array<ArrayBuffer>;
const LIMITS = { limitBytes: 64 * 1024, timeoutMs: 10_000 };
const WAV = bytesOf("RIFF\x24\0\0\0WAVEfmt ");
const UNKNOWN = bytesOf("\x01\x02\x03\x04");

/** One byte for each character. */
function bytesOf(text: string): Bytes {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

function join(...pieces: (string | Bytes)[]): Bytes {
  return new Uint8Array(pieces.flatMap((piece) => [...typeof piece === "string" ? utf8(piece) : piece]));
}

function read(body: BodyInit, boundary = "b", headers: HeadersInit = {}, limits = LIMITS): Promise<FormField[]> {
  const init = {
    "content-type": `multipart/form-data; boundary=${boundary}`,
    ...Object.fromEntries(new Headers(headers)),
  };
  return readFormBody(new Request("http://gateway/", { method: "POST", body, headers: init }), limits);
}

function part(disposition: string, content: string | Bytes, more = ""): Bytes {
  return join(`--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`, content, "\r\n");
}

async function readFile(disposition: string, content: string | Bytes = WAV, more = "") {
  const [field] = await read(join(part(disposition, content, more), "--b--\r\n"));
  return field!.file!;
}

async function refusal(reading: Promise<unknown>): Promise<[code: string, message: string]> {
  const { code, message } = await assertRejects(() => reading, GatewayError);
  return [code, message];
}

Deno.test("form: fields keep their order, before and after the file", async () => {
  const file = part('name="file"; filename="a.wav"', WAV);
  const texts = [part('name="model"', "m"), part('name="include[]"', "x"), part('name="include[]"', "y")];
  for (const order of [[file, ...texts], [...texts, file], [texts[0]!, file, ...texts.slice(1)]]) {
    const fields = await read(join(...order, "--b--\r\n"));
    assertEquals(fields.map(({ name }) => name), order.map((one) => one === file ? "file" : nameOf(one)));
    assertEquals(fields.flatMap(({ value = [] }) => value), ["m", "x", "y"]);
    assertEquals(fields.find(({ file }) => file)?.file, { bytes: WAV, name: "a.wav", mediaType: "audio/wav" });
  }
});

function nameOf(one: Bytes): string {
  return /name="([^"]*)"/.exec(new TextDecoder().decode(one))![1]!;
}

Deno.test("form: what the platform's own FormData sends is read as it was put in", async () => {
  const form = new FormData();
  form.append("prompt", "Grüße 👋");
  form.append("file", new Blob([WAV], { type: "audio/wav" }), "Grüße 👋.wav");
  form.append("model", "org/model");
  const fields = await readFormBody(new Request("http://gateway/", { method: "POST", body: form }), LIMITS);
  assertEquals(fields, [
    { name: "prompt", value: "Grüße 👋" },
    { name: "file", file: { bytes: WAV, name: "Grüße 👋.wav", mediaType: "audio/wav", declaredType: "audio/wav" } },
    { name: "model", value: "org/model" },
  ]);
});

const BOUNDARIES: Record<string, { parameter: string; boundary: string }> = {
  "as it is": { parameter: "boundary=----x'()+_,./:=?", boundary: "----x'()+_,./:=?" },
  "in quotes": { parameter: 'boundary="a b;c"', boundary: "a b;c" },
  "in capitals": { parameter: "BOUNDARY=aBc", boundary: "aBc" },
  "after another parameter": { parameter: "charset=utf-8; boundary=x", boundary: "x" },
  "before another parameter": { parameter: "boundary=x; charset=utf-8", boundary: "x" },
  "as long as it may be": { parameter: `boundary=${"x".repeat(70)}`, boundary: "x".repeat(70) },
};

for (const [name, { parameter, boundary }] of Object.entries(BOUNDARIES)) {
  Deno.test(`form: a boundary ${name}`, async () => {
    const body = `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--${boundary}--\r\n`;
    const headers = { "content-type": `multipart/form-data; ${parameter}` };
    assertEquals(await read(body, "", headers), [{ name: "model", value: "m" }]);
  });
}

const SURROUNDED: Record<string, string> = {
  "a text before the first boundary": `A preamble\r\nof two lines\r\nPART--b--\r\n`,
  "a line break before the first boundary": `\r\nPART--b--\r\n`,
  "a text after the last boundary": `PART--b--\r\nAn epilogue\r\n--b\r\n`,
  "no line break at the end": `PART--b--`,
  "white space after the boundary": `--b \t\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--b--`,
};

for (const [name, body] of Object.entries(SURROUNDED)) {
  Deno.test(`form: ${name} changes nothing`, async () => {
    const text = body.replace("PART", new TextDecoder().decode(part('name="model"', "m")));
    assertEquals(await read(text), [{ name: "model", value: "m" }]);
  });
}

const FILE_NAMES: Record<string, [disposition: string, name: string]> = {
  "in UTF-8": ['name="file"; filename="Grüße 👋.wav"', "Grüße 👋.wav"],
  "without quotes": ["name=file; filename=a.wav", "a.wav"],
  "with escaped quotes": ['name="file"; filename="say \\"hi\\".wav"', 'say "hi".wav'],
  "with quotes as browsers write them": ['name="file"; filename="say %22hi%22.wav"', "say %22hi%22.wav"],
  "with a semicolon": ['name="file"; filename="a; name=b.wav"', "a; name=b.wav"],
  "with a path": ['name="file"; filename="../../etc/a.wav"', "../../etc/a.wav"],
  "encoded": ["name=\"file\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.wav", "Grüße.wav"],
  "both plain and encoded": ['name="file"; filename="G.wav"; filename*=UTF-8\'\'Gr%C3%BC.wav', "Grü.wav"],
  "before the field's name": ['filename="a.wav"; name="file"', "a.wav"],
  "that is empty": ['name="file"; filename=""', ""],
};

for (const [name, [disposition, expected]] of Object.entries(FILE_NAMES)) {
  Deno.test(`form: a file name ${name}`, async () => {
    assertEquals((await readFile(disposition)).name, expected);
  });
}

const TYPES: Record<string, [content: Bytes, filename: string, declared: string | undefined, expected: string]> = {
  "by its bytes, whatever its name and type say": [WAV, "a.mp3", "audio/mpeg", "audio/wav"],
  "by its bytes, where they are no sound": [bytesOf("\x89PNG\r\n\x1a\n"), "a.mp3", "audio/mpeg", "image/png"],
  "by its own type": [UNKNOWN, "a.mp3", "Audio/X-Odd; codecs=1", "audio/x-odd"],
  "as a film": [UNKNOWN, "a", "video/mp4", "video/mp4"],
  "by its name, because SDKs send a type that says nothing": [
    UNKNOWN,
    "a.b.MP3",
    "application/octet-stream",
    "audio/mpeg",
  ],
  "by its name, where no type comes": [UNKNOWN, "a.m4a", undefined, "audio/mp4"],
  "by its name, where the type is none of sound": [UNKNOWN, "a.flac", "text/plain", "audio/flac"],
  "as bytes, where nothing tells": [UNKNOWN, "mp3", undefined, "audio/mpeg"],
  "as bytes, where the name has no ending": [UNKNOWN, "blob", undefined, "application/octet-stream"],
};

for (const [name, [content, filename, declared, expected]] of Object.entries(TYPES)) {
  Deno.test(`form: a file is told ${name}`, async () => {
    const more = declared === undefined ? "" : `Content-Type: ${declared}\r\n`;
    assertEquals((await readFile(`name="file"; filename="${filename}"`, content, more)).mediaType, expected);
  });
}

Deno.test("form: an empty file is a file, and an empty text a text", async () => {
  const body = join(part('name="file"; filename="a.wav"', ""), part('name="prompt"', ""), "--b--\r\n");
  assertEquals(await read(body), [
    { name: "file", file: { bytes: new Uint8Array(), name: "a.wav", mediaType: "audio/wav" } },
    { name: "prompt", value: "" },
  ]);
});

Deno.test("form: a form without fields is empty", async () => {
  assertEquals(await read("--b--\r\n"), []);
});

Deno.test("form: files are views of one buffer, and nothing is copied", async () => {
  const files = [part('name="a"; filename="a"', WAV), part('name="b"; filename="b"', UNKNOWN)];
  const [first, second] = (await read(join(...files, "--b--\r\n"))).map(({ file }) => file!.bytes);
  assert(first!.buffer === second!.buffer);
  assert(first!.byteOffset < second!.byteOffset);
});

Deno.test("form: a compressed form is read", async () => {
  const body = join(part('name="file"; filename="a"', WAV), "--b--\r\n");
  const [field] = await read(new Uint8Array(gzipSync(body)), "b", { "content-encoding": "gzip" });
  assertEquals(field?.file?.bytes, WAV);
});

Deno.test("form: a compressed form that grows over the limit is refused", async () => {
  const body = join(part('name="file"; filename="a"', new Uint8Array(LIMITS.limitBytes)), "--b--\r\n");
  const [code] = await refusal(read(new Uint8Array(gzipSync(body)), "b", { "content-encoding": "gzip" }));
  assertEquals(code, "request_too_large");
});

Deno.test("form: more than the limit is refused, whether the client says the length or not", async () => {
  const body = join(part('name="file"; filename="a"', new Uint8Array(LIMITS.limitBytes)), "--b--\r\n");
  for (const sent of [body, bodyOf(piecesOf(body, 1_000))]) {
    assertEquals((await refusal(read(sent)))[0], "request_too_large");
  }
});

for (
  const type of [
    "multipart/form-data",
    "multipart/form-data; boundary=",
    'multipart/form-data; boundary=""',
    "multipart/mixed; boundary=b",
    "application/json",
    "application/x-www-form-urlencoded",
    "odd",
  ]
) {
  Deno.test(`form: content type "${type}" is not read, and the client hears what is`, async () => {
    const [code, message] = await refusal(read("--b--\r\n", "b", { "content-type": type }));
    assertEquals(code, "unsupported_media_type");
    assertStringIncludes(message, "send multipart/form-data with its boundary");
  });
}

Deno.test("form: no content type at all is told as such", async () => {
  const request = new Request("http://gateway/", { method: "POST", body: bytesOf("--b--\r\n") });
  const [code, message] = await refusal(readFormBody(request, LIMITS));
  assertEquals(code, "unsupported_media_type");
  assertStringIncludes(message, "a missing or invalid content type");
});

Deno.test("form: a form that is cut off anywhere is refused, and never read as a shorter one", async () => {
  const whole = join(part('name="model"', "m"), part('name="file"; filename="a"', WAV), "--b--");
  for (let length = 1; length < whole.length; length++) {
    const [code, message] = await refusal(read(whole.slice(0, length)));
    assertEquals([length, code], [length, "invalid_request"]);
    assertStringIncludes(message, "Cannot read the multipart form");
  }
});

const BROKEN: Record<string, [body: string | Bytes, message: string]> = {
  "nothing": ["", "The body is empty: expected a multipart form"],
  "another boundary than it says": [part('name="model"', "m").slice(4), "it is truncated or malformed"],
  "a part without a name": [join(part('filename="a"', WAV), "--b--"), "a part without a name"],
  "a part with an empty name": [join(part('name=""', "m"), "--b--"), "a part without a name"],
  "a part without headers": ["--b\r\n\r\nm\r\n--b--\r\n", "a part without a name"],
  "a part whose headers do not end": ['--b\r\nContent-Disposition: form-data; name="model"\r\n--b--\r\n', "header"],
  "headers of 9 kB": [join(part('name="model"', "m", `x: ${"x".repeat(9_000)}\r\n`), "--b--"), "header"],
  "a file name that is no UTF-8": [join(part("name=file; filename=", "x"), "--b--").with(-11, 0xfc), ""],
  "a text that is no UTF-8": [join(part('name="prompt"', bytesOf("Gr\xfc")), "--b--"), "not valid UTF-8"],
};

for (const [name, [body, excerpt]] of Object.entries(BROKEN)) {
  Deno.test(`form: ${name} is refused`, async () => {
    const [code, message] = await refusal(read(body));
    assertEquals(code, "invalid_request");
    assertStringIncludes(message, excerpt);
  });
}

Deno.test("form: a thousand fields are read, and more are refused for their number", async () => {
  const fields = (count: number) => join(...Array.from({ length: count }, () => part('name="a"', "")), "--b--");
  const limits = { ...LIMITS, limitBytes: 1024 * 1024 };
  assertEquals((await read(fields(1_000), "b", {}, limits)).length, 1_000);
  const [code, message] = await refusal(read(fields(5_000), "b", {}, limits));
  assertEquals([code, message], ["invalid_request", "Cannot read the multipart form: it has more than 1000 fields"]);
});

Deno.test("form: a boundary and a file that were made for each other do not hold the gateway up", async () => {
  const boundary = "a".repeat(200);
  const content = new Uint8Array(4 * 1024 * 1024).fill(bytesOf("a")[0]!);
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;
  const body = new Blob([head, content, `\r\n--${boundary}--`]);
  await assertCheap(100, async () => {
    const [field] = await read(body, boundary, {}, { ...LIMITS, limitBytes: 5 * 1024 * 1024 });
    assertEquals(field?.file?.bytes.length, content.length);
  });
});

Deno.test("form: any bytes of a file survive, and so do those that look like the boundary", async () => {
  const boundary = "--x-y";
  const delimiter = bytesOf(`\r\n--${boundary}`);
  const lookalike = fc.nat(delimiter.length - 1).map((length) => [...delimiter.subarray(0, length)]);
  const longer = fc.constantFrom("z", "-z", "\r", "\n").map((after) => [...delimiter, ...bytesOf(after)]);
  const inLine = fc.constant([...bytesOf(`x--${boundary}\r\n`)]);
  const bytes = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 40 });
  // Cut, the rest of the boundary must not follow by chance.
  const content = fc.array(fc.oneof(bytes, lookalike, longer, inLine), { maxLength: 6 }).map((pieces) =>
    new Uint8Array(pieces.flat())
  ).filter((all) => !/\r\n----x-y(--|[ \t]*\r\n)/.test(String.fromCharCode(...all, 13, 10)));
  await fc.assert(fc.asyncProperty(content, content, async (first, second) => {
    const file = (name: string) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="f"\r\n\r\n`;
    const body = join(file("a"), first, "\r\n", file("b"), second, `\r\n--${boundary}--\r\n`);
    const fields = await read(body, boundary);
    assertEquals(fields.map(({ name, file }) => [name, file?.bytes]), [["a", first], ["b", second]]);
  }));
});

Deno.test("form: others have their turns beside a file of line breaks", async () => {
  const lines = "\r\n".repeat(500_000);
  const disposition = 'content-disposition: form-data; name="file"; filename="a.txt"';
  const body = new TextEncoder().encode(`--b\r\n${disposition}\r\n\r\n${lines}\r\n--b--\r\n`);
  const turns = await turnsDuring(async () => {
    const [field] = await read(body, "b", {}, { ...LIMITS, limitBytes: 2_000_000 });
    assertEquals(field?.file?.bytes.length, lines.length);
  });
  assert(turns >= 500_000 / 10_000 / 2, `${turns} turns`);
});
