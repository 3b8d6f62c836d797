/** What the process prints, whoever's words are in it. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { standardStreams } from "../../src/observe/standard.ts";
import type { Warning } from "../../src/observe/log.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { junit, markdown } from "../../src/programs/check/report.ts";
import { law } from "../support/law.ts";

function capture() {
  const written = { stdout: "", stderr: "" };
  const platform: Platform = {
    ...deno,
    write(stream, bytes) {
      written[stream] += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  };
  return { written, streams: standardStreams(platform) };
}

/** What steers a terminal, turns text around, or is not seen: of each kind some. */
const UNSEEN = [
  ..."\0\x07\x08\r\x1b\x7f\x85\x9b",
  ..."\u00ad\u061c\u180e\u200b\u200e\u202a\u202e\u2028\u2029\u2060\u2066\u2069\ufeff\ufffb",
  ..."\u{e0001}\u{e0041}\u{1d173}",
];

law(
  "law · output: no command prints what steers a terminal or turns text around, and its lines stay lines",
  fc.array(fc.oneof(fc.constantFrom(...UNSEEN, "\n", "\t", "é", "漢", "😀"), fc.string({ unit: "binary" })), {
    maxLength: 12,
  }),
  async (pieces) => {
    const text = pieces.join("");
    const { written, streams } = capture();
    streams.say(text);
    streams.print(text);
    streams.warn({ time: "now", warning: "budget", budget: text } as unknown as Warning);
    await streams.flush(1_000);
    for (const output of Object.values(written)) {
      assert(!/[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u.test(output), JSON.stringify(output));
    }
    assertEquals(written.stderr.split("\n").length, text.split("\n").length + 1);
    const result = {
      wire: "chat",
      id: "one",
      requirement: "r",
      state: "failed" as const,
      reasons: [text],
      seconds: 1,
    };
    for (const report of [markdown("http://server.test", "m", [result]), junit("http://server.test", [result])]) {
      assert(!/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u.test(report), JSON.stringify(report));
    }
  },
);

Deno.test("output: what is plain is printed as it is, and what is not as JSON would escape it", async () => {
  const { written, streams } = capture();
  streams.say("key\tvalue\nünï 漢字 😀 مرحبا");
  streams.say("user\u202egnp.exe \u{e0041}");
  await streams.flush(1_000);
  assertEquals(written.stderr, "key\tvalue\nünï 漢字 😀 مرحبا\nuser\\u202egnp.exe \\udb40\\udc41\n");
});
