import { assert, assertThrows } from "@std/assert";
import { z } from "zod";
import { createApp, parseConfig } from "../../src/app.ts";
import type { Stage, StagePlugin } from "../../src/contract/stage.ts";

/** Starts a gateway with the stages. The configuration has the section of `mine`. */
function start(...stages: StagePlugin[]) {
  const written = {
    upstreams: { sandbox: { driver: "sandbox" } },
    lanes: { oss: { upstreams: { chat: "sandbox" } } },
    store: { kind: "memory" },
    mine: {},
  };
  const plugins = { stages };
  return createApp({ config: parseConfig(written, { plugins }), plugins });
}

function plugin(name: string, create: () => unknown = () => ({ name })): StagePlugin {
  return { name, description: "A stage.", options: z.strictObject({}), create: create as () => Stage };
}

const WRONG: [what: string, stages: StagePlugin[], message: string][] = [
  ["two of one name", [plugin("mine"), plugin("mine")], 'Two stages have the name "mine"'],
  ["two of one name without a section", [plugin("mine"), plugin("b"), plugin("b")], 'Two stages have the name "b"'],
  [
    "one that cannot be created",
    [plugin("mine", () => {
      throw new Error("No such word list");
    })],
    'The stage "mine" cannot be created: No such word list',
  ],
  [
    "one whose creation waits",
    [plugin("mine", () => Promise.resolve({ name: "mine" }))],
    'The stage "mine" cannot be created: "create" must not wait',
  ],
  [
    "one of another name",
    [plugin("mine", () => ({ name: "yours" }))],
    'The stage "mine" cannot be created: "create" must return a stage of this name',
  ],
  [
    "none",
    [plugin("mine", () => undefined)],
    'The stage "mine" cannot be created: "create" must return a stage of this name',
  ],
];

for (const [what, stages, message] of WRONG) {
  Deno.test(`stages: ${what}: the gateway does not start, and says which it is`, () => {
    assertThrows(() => start(...stages), Error, message);
  });
}

Deno.test("stages: one that the configuration does not have is not created", () => {
  const never = plugin("never", () => {
    throw new Error("It was created");
  });
  assert(start(plugin("mine"), never).fetch);
});
