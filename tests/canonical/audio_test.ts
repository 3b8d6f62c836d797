import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { mediaTypeOfSpeech, sniffMedia } from "../../src/canonical/media.ts";
import { SPEECH_FORMATS, type SpeechFormat } from "../../src/canonical/audio.ts";
import { GatewayError } from "../../src/errors.ts";

const FILES = new URL("../fixtures/audio/", import.meta.url);
const file = (name: string) => Deno.readFileSync(new URL(name, FILES));
const ascii = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const utf16 = (text: string) => new Uint8Array(Uint16Array.from(`\ufeff${text}`, (unit) => unit.charCodeAt(0)).buffer);

const SOUNDS: [name: string, mediaType: string, speech: SpeechFormat | undefined][] = [
  ["tone.wav", "audio/wav", "wav"],
  ["tone.mp3", "audio/mpeg", "mp3"],
  ["tone.flac", "audio/flac", "flac"],
  ["tone.ogg", "audio/ogg", "opus"],
  ["tone-vorbis.ogg", "audio/ogg", undefined],
  ["tone.webm", "audio/webm", undefined],
  ["tone.m4a", "audio/mp4", undefined],
  ["tone.aac", "audio/aac", "aac"],
];

for (const [name, mediaType] of SOUNDS) {
  Deno.test(`${name} is told by its bytes, however early it ends`, () => {
    const bytes = file(name);
    assertEquals(sniffMedia(bytes), mediaType);
    for (let length = 12; length < 100; length++) assertEquals(sniffMedia(bytes.subarray(0, length)), mediaType);
    // Too short to tell is not another format, but that AAC and MP3 share their first byte.
    for (let length = 0; length < 12; length++) {
      const seen = sniffMedia(bytes.subarray(0, length));
      assertEquals(seen ?? mediaType, mediaType);
    }
  });
}

const OTHERS: [what: string, bytes: Uint8Array, mediaType: string | undefined][] = [
  ["nothing", new Uint8Array(), undefined],
  ["text", ascii("Hello, this is a text."), undefined],
  ["text in UTF-16", utf16("Hello"), undefined],
  ["HTML", ascii("<!doctype html><title>502</title>"), undefined],
  ["JSON", ascii('{"error":{"message":"no"}}'), undefined],
  ["silence without a header", new Uint8Array(4_800), undefined],
  ["samples near silence without a header", new Uint8Array(Int16Array.of(-1, -1, 0, 1, -2).buffer), undefined],
  ["an MP3 with tags", new Uint8Array([...ascii("ID3\x03\0\0\0\0\0\0"), ...file("tone.mp3")]), "audio/mpeg"],
  ["an MP2", Uint8Array.of(0xff, 0xfd, 0x80, 0x04), "audio/mpeg"],
  ["AAC of MPEG-2", Uint8Array.of(0xff, 0xf9, 0x50, 0x80), "audio/aac"],
  ["a WAV beyond 4 GB", ascii("RF64\xff\xff\xff\xffWAVEds64"), "audio/wav"],
  ["a PNG", Uint8Array.fromBase64("iVBORw0KGgoAAAANSUhEUg=="), "image/png"],
  ["a JPEG", Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 0x10, 0x4a, 0x46), "image/jpeg"],
  ["a GIF", ascii("GIF89a\x01\0\x01\0"), "image/gif"],
  ["a WebP", ascii("RIFF\x1a\0\0\0WEBPVP8L"), "image/webp"],
  ["a film in RIFF", ascii("RIFF\x1a\0\0\0AVI LIST"), undefined],
  ["a phone's picture", ascii("\0\0\0\x18ftypheic\0\0\0\0mif1heic"), "image/heif"],
  ["an AVIF", ascii("\0\0\0\x1cftypavif\0\0\0\0avifmif1"), "image/heif"],
  ["a film in MP4", ascii("\0\0\0\x20ftypisom\0\0\x02\0isomiso2"), "audio/mp4"],
  ["a PDF", ascii("%PDF-1.7\n"), "application/pdf"],
  ["a ZIP", ascii("PK\x03\x04\x14\0\0\0"), "application/zip"],
];

for (const [what, bytes, mediaType] of OTHERS) {
  Deno.test(`${what} is ${mediaType ?? "nothing that its bytes tell"}`, () => {
    assertEquals(sniffMedia(bytes), mediaType);
  });
}

Deno.test("the first twelve bytes tell all that is told", () => {
  fc.assert(
    fc.property(fc.constantFrom(...OTHERS), fc.uint8Array({ maxLength: 64 }), ([, start], rest) => {
      const bytes = Uint8Array.from([...start.subarray(0, 12), ...rest]);
      assertEquals(sniffMedia(bytes), sniffMedia(bytes.subarray(0, 12)));
    }),
    { seed: 20261121, numRuns: 1_000 },
  );
});

// Speech

function delivery(start: Uint8Array, declared: string | null, wanted: SpeechFormat) {
  const notes: string[] = [];
  return { mediaType: mediaTypeOfSpeech(start, declared, wanted, (text) => notes.push(text)), notes };
}

for (const [name, mediaType, speech] of SOUNDS) {
  Deno.test(`${name} as speech goes out as what it is, with a note where something else was wanted`, () => {
    for (const wanted of SPEECH_FORMATS) {
      for (const declared of [null, "audio/mpeg", "application/octet-stream", "text/plain"]) {
        const { mediaType: delivered, notes } = delivery(file(name).subarray(0, 64), declared, wanted);
        assertEquals(delivered, speech === "opus" ? "audio/opus" : mediaType);
        assertEquals(notes, wanted === speech ? [] : [`delivered ${delivered} in place of ${wanted}`]);
      }
    }
  });
}

Deno.test("sound without a beginning of its own is what the upstream says, else what was wanted", () => {
  const samples = new Uint8Array(4_800);
  assertEquals(delivery(samples, "audio/pcm; rate=24000", "pcm"), { mediaType: "audio/pcm", notes: [] });
  assertEquals(delivery(samples, "Audio/L16;rate=24000;channels=1", "pcm"), { mediaType: "audio/pcm", notes: [] });
  assertEquals(delivery(samples, "audio/pcm", "mp3"), {
    mediaType: "audio/pcm",
    notes: ["delivered audio/pcm in place of mp3"],
  });
  const loud = new Uint8Array(Int16Array.of(-1_025, 3_000).buffer);
  assertEquals(delivery(loud, "audio/x-pcm", "pcm"), { mediaType: "audio/pcm", notes: [] });
  for (const declared of [null, "", "application/octet-stream", "binary/octet-stream", "audio/"]) {
    assertEquals(delivery(samples, declared, "pcm"), { mediaType: "audio/pcm", notes: [] });
  }
  for (const declared of ["audio/mp3", "audio/mpeg3", "AUDIO/MPEG"]) {
    assertEquals(delivery(samples, declared, "mp3"), { mediaType: "audio/mpeg", notes: [] });
  }
  for (const declared of ["audio/x-wav", "audio/wave", "audio/vnd.wave"]) {
    assertEquals(delivery(samples, declared, "wav"), { mediaType: "audio/wav", notes: [] });
  }
});

Deno.test("what is no sound is not passed on as sound", () => {
  const cases: [Uint8Array, string | null, string][] = [
    [new Uint8Array(), "audio/mpeg", "The upstream sent no audio"],
    [ascii("\x89PNG\r\n\x1a\n"), "audio/mpeg", "The upstream sent image/png instead of audio"],
    [ascii("%PDF-1.7"), null, "The upstream sent application/pdf instead of audio"],
    [ascii("PK\x03\x04\x14\0"), "application/zip", "The upstream sent application/zip instead of audio"],
    [ascii("<html>502</html>"), "text/html; charset=utf-8", "The upstream sent text/html instead of audio"],
    [ascii('{"detail":"no"}'), "application/problem+json", "The upstream sent application/problem+json instead of"],
    [ascii("<!doctype html><title>502</title>"), "audio/mpeg", "The upstream sent a page instead of audio"],
    [ascii('{"error":{"message":"no"}}'), "audio/wav", "The upstream sent JSON instead of audio"],
    [ascii('{"error":"no"}'), null, "The upstream sent JSON instead of audio"],
    [ascii("Loading"), "text/plain", "The upstream sent text/plain instead of audio"],
  ];
  for (const [bytes, declared, message] of cases) {
    const error = assertThrows(() => delivery(bytes, declared, "mp3"), GatewayError, message);
    assertEquals(error.code, "upstream_error");
  }
});
