import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Tool } from "../../src/canonical/generate.ts";
import { matchName, offeredNames } from "../../src/transforms/call_names.ts";
import { law } from "../support/law.ts";

const tool = (name: string): Tool => ({ type: "function", name });
const NAMES = ["get_weather", "get", "weather", "files.read", "mcp__a__b-c"];

function match(written: string, names: readonly string[] = NAMES): [name: string, notes: string[]] {
  const notes: string[] = [];
  const name = matchName(written, offeredNames(names.map(tool)), { note: (text) => void notes.push(text) });
  return [name, notes];
}

const TOKENS = [
  "<|channel|>",
  "</think>",
  "</arg_value>",
  "<tool_sep>",
  "<|",
  "[ARGS]",
  "]<]mark[>[",
  "</｜DSML｜invoke>",
];
const RESIDUE = ["commentary", "json", "x", "1", " "];
const around = fc.array(fc.tuple(fc.constantFrom(...TOKENS), fc.constantFrom("", ...RESIDUE)), { maxLength: 3 });

law(
  "names of calls: marks around an offered name are taken off and noted",
  fc.tuple(fc.constantFrom(...NAMES), around, around),
  ([name, before, after]) => {
    const written = before.map(([mark, text]) => text + mark).join("") + name + after.flat().join("");
    assertEquals(match(written), [name, written === name ? [] : [`took marks off the tool name ${name}`]]);
  },
);

for (
  const [written, name] of [
    ["functions.get_weather:0", "get_weather"],
    ["functions.get_weather", "get_weather"],
    ["call:get_weather{", "get_weather"],
    ["assistant to=functions.get_weather<|channel|>commentary", "get_weather"],
    [" get_weather\n", "get_weather"],
    ['"get_weather"', "get_weather"],
    ["functions.files.read:12", "files.read"],
    ["<|constrain|>get_weather<|message|>get_weather", "get_weather"],
  ] as const
) {
  Deno.test(`names of calls: ${JSON.stringify(written)} is ${name}`, () => assertEquals(match(written)[0], name));
}

for (
  const written of ["get weather", "get_weathers", "rm</arg_value>", "get<|x|>weather", "other.get", "get_weather2", ""]
) {
  Deno.test(`names of calls: ${JSON.stringify(written)} belongs to no single tool and stays`, () => {
    assertEquals(match(written), [written, []]);
  });
}

Deno.test("names of calls: an offered name stays, whatever marks are in it", () => {
  assertEquals(match("get</x>", ["get", "get</x>"]), ["get</x>", []]);
  assertEquals(match("f</x>", []), ["f</x>", []]);
});
