import { assertThrows } from "@std/assert";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { GatewayError } from "../../src/errors.ts";
import { assertWellFormed } from "../../src/programs/testing/well_formed.ts";

const start: GenerateEvent = { type: "start", model: "m", inputTokens: 1 };
const open = (index = 0): GenerateEvent => ({ type: "part-start", index, part: { type: "text", text: "" } });
const delta = (index = 0): GenerateEvent => ({ type: "part-delta", index, delta: { type: "text", text: "a" } });
const end = (index = 0): GenerateEvent => ({ type: "part-end", index });
const finish: GenerateEvent = {
  type: "finish",
  finish: { reason: "stop" },
  usage: { inputTokens: 1, outputTokens: 1 },
};
const error: GenerateEvent = { type: "error", error: new GatewayError("upstream_error", "Cut") };

Deno.test("well-formed streams pass", () => {
  assertWellFormed([start, open(), delta(), delta(), end(), open(1), end(1), finish]);
  assertWellFormed([start, finish]);
  assertWellFormed([start, open(), delta(), error]);
  assertWellFormed([error]);
});

Deno.test("each break of the order is caught", () => {
  const broken: GenerateEvent[][] = [
    [],
    [finish],
    [start],
    [start, open(), delta(), end()],
    [start, start, finish],
    [{ ...start, inputTokens: 0 }, finish],
    [start, finish, finish],
    [start, error, finish],
    [start, open(), finish],
    [start, delta(), finish],
    [start, end(), finish],
    [start, open(1), end(1), finish],
    [start, open(), end(), open(), end(), finish],
    [start, open(), open(1), end(1), end(), finish],
    [start, open(), delta(1), end(), finish],
    [start, open(), end(1), finish],
    [start, open(), end(), delta(), finish],
    [start, { type: "part-start", index: 0, part: { type: "text", text: "a" } }, end(), finish],
    [start, open(), { type: "part-delta", index: 0, delta: { type: "reasoning", text: "a" } }, end(), finish],
    [
      start,
      { type: "part-start", index: 0, part: { type: "tool-call", kind: "function", id: "", name: "f", input: "" } },
      end(),
      finish,
    ],
  ];
  for (const events of broken) assertThrows(() => assertWellFormed(events), JSON.stringify(events));
});
