import { assertEquals, assertThrows } from "@std/assert";
import { resolveVoice } from "../../../plugins/shared/voices.ts";
import type { Target } from "../../../src/contract/driver.ts";
import { GatewayError } from "../../../src/errors.ts";
import { targetOf } from "../audio/support.ts";

const KOKORO = { model: "hexgrad/Kokoro-82M" };

const CASES: [what: string, named: string | undefined, target: Partial<Target>, voice?: string, note?: string][] = [
  ["a client's name becomes the family's", "alloy", KOKORO, "af_alloy", "mapped voice alloy>af_alloy"],
  ["the family's own name stays", "af_bella", KOKORO, "af_bella"],
  ["a mixture stays", "af_bella+af_sky(2)", KOKORO, "af_bella+af_sky(2)"],
  ["an unknown model's voice stays", "alloy", {}, "alloy"],
  ["a name that every object has is no voice of a table", "constructor", { ...KOKORO, voices: {} }, "constructor"],
  [
    "the configuration comes first",
    "alloy",
    { ...KOKORO, voices: { alloy: "am_puck" } },
    "am_puck",
    "mapped voice alloy>am_puck",
  ],
  [
    "the configuration's star is for all others",
    "nova",
    { ...KOKORO, voices: { alloy: "a", "*": "b" } },
    "b",
    "mapped voice nova>b",
  ],
  ["none is named where none is needed", undefined, { ...KOKORO, voices: { "*": "b" } }],
  ["the family's usual voice where one is needed", undefined, { ...KOKORO, needsVoice: true }, "af_heart"],
  ["the configuration's star where one is needed", undefined, { needsVoice: true, voices: { "*": "b" } }, "b"],
];

for (const [what, named, target, voice, note] of CASES) {
  Deno.test(`audio: voices: ${what}`, () => {
    const notes: string[] = [];
    assertEquals(resolveVoice(named, targetOf(target), (text) => notes.push(text)), voice);
    assertEquals(notes, note ? [note] : []);
  });
}

Deno.test("audio: voices: none for a model of no known family that needs one is the client's fault", () => {
  const error = assertThrows(() => resolveVoice(undefined, targetOf({ needsVoice: true }), () => {}), GatewayError);
  assertEquals([error.code, error.details.param], ["invalid_request", "voice"]);
});
