import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import type { Input, ModelOperation } from "../../src/canonical/operations.ts";
import type { Destination, Passed, Stage, StageContext } from "../../src/contract/stage.ts";
import { GatewayError } from "../../src/errors.ts";
import { apply } from "../../src/transforms/apply.ts";
import { passOutgoing, passStages } from "../../src/transforms/pass_stages.ts";

const INPUT: GenerateRequest = { model: "m", stream: true, messages: [] };
const about: StageContext = {
  operation: "generate",
  caller: { name: "me", owner: "me" },
  lane: "oss",
  model: "m",
  target: "a/m",
  clientWire: "chat",
  signal: new AbortController().signal,
  note() {},
};
const TO: Destination = { kind: "search", name: "web", isConfigured: true };

/** A stage for conversations that appends its name to the model's, on the way there and on the way back. */
function appending(name: string, waits = false): Stage {
  const passedFrom = (input: GenerateRequest): Passed<"generate"> => ({
    input: { ...input, model: input.model + name },
    events: {
      push: (event, emit) => emit(event.type === "start" ? { ...event, model: event.model + name } : event),
    },
    output: (output) => ({ ...output, model: output.model + name }),
  });
  return {
    name,
    request<K extends ModelOperation>(input: Input<K>) {
      const passed = passedFrom(input as GenerateRequest) as unknown as Passed<K>;
      return waits ? Promise.resolve(passed) : passed;
    },
    outgoing: (value) => waits ? Promise.resolve(`${value}${name}`) : `${value}${name}`,
  };
}

for (
  const [kind, stages] of [
    ["synchronous", [appending("A"), appending("B"), appending("C")]],
    ["waiting", [appending("A"), appending("B", true), appending("C")]],
  ] as const
) {
  Deno.test(`stages: ${kind} ones are passed in order, and by the answer in the reverse order`, async () => {
    const passed = passStages<"generate">(stages, INPUT, about);
    assertEquals(passed instanceof Promise, kind === "waiting");
    const { input, back } = await passed;
    assertEquals([input.model, INPUT.model], ["mABC", "m"]);
    const answer = {
      model: "",
      content: [],
      finish: { reason: "stop" },
      usage: { inputTokens: 1, outputTokens: 1 },
    } as const;
    const changed = back.reduce<GenerateResponse>((before, { output }) => output!(before), { ...answer, content: [] });
    assertEquals(changed.model, "CBA");
    const start: GenerateEvent = { type: "start", model: "", inputTokens: 1 };
    assertEquals(await apply(back.map(({ events }) => events!), [start]), [{ ...start, model: "CBA" }]);
    assertEquals(await passOutgoing(stages, "", about, TO), "ABC");
  });
}

Deno.test("stages: one that is not for the operation, or changes nothing, leaves nothing behind", () => {
  const other: Stage = { ...appending("A"), operations: ["embed"] };
  const idle: Stage = { name: "idle", request: (input) => ({ input }) };
  const passed = passStages<"generate">([other, idle, { name: "none" }], INPUT, about);
  assert(!(passed instanceof Promise));
  assertEquals([passed.input === INPUT, passed.back], [true, []]);
  assertEquals(passOutgoing([idle], "x", about, TO), "x");
});

const failing = (thrown: unknown, waits: boolean): Stage => ({
  name: "mine",
  request<K extends ModelOperation>(_input: Input<K>): never | Promise<never> {
    if (waits) return Promise.reject(thrown);
    throw thrown;
  },
  outgoing() {
    if (waits) return Promise.reject(thrown);
    throw thrown;
  },
});

for (const waits of [false, true]) {
  Deno.test(`stages: an error of a stage that ${waits ? "waits" : "does not wait"} is the request's, an unknown one only by its stage`, async () => {
    for (
      const run of [
        (stage: Stage) => passStages<"generate">([appending("A"), stage], INPUT, about),
        (stage: Stage) => passOutgoing([appending("A"), stage], "x", about, TO),
      ]
    ) {
      const own = new GatewayError("invalid_request", "Not so");
      assertEquals(await assertRejects(async () => await run(failing(own, waits))), own);
      const error = await assertRejects(async () => await run(failing(new Error("secret"), waits)), GatewayError);
      assertEquals([error.code, error.message, error.details.own], ["internal", 'The stage "mine" failed', true]);
    }
  });
}

Deno.test("stages: an error on the way back names its stage, too", () => {
  const stage: Stage = {
    name: "mine",
    request: (input) => ({
      input,
      events: {
        *push() {
          yield;
          throw new Error("secret");
        },
      },
      output() {
        throw new Error("secret");
      },
    }),
  };
  const passed = passStages<"generate">([stage], INPUT, about);
  assert(!(passed instanceof Promise));
  const [back] = passed.back;
  assertThrows(() => back!.output!({} as never), GatewayError, 'The stage "mine" failed');
  const work = back!.events!.push({ type: "start", model: "", inputTokens: 1 }, () => {});
  assertThrows(() => [...work!], GatewayError, 'The stage "mine" failed');
});

for (
  const [what, returned] of [["nothing", undefined], ["the input by itself", INPUT], [
    "a promise of nothing",
    null,
  ]] as const
) {
  Deno.test(`stages: one that returns ${what} is named, and what it must return`, async () => {
    const request = () => returned === null ? Promise.resolve() : returned;
    const stages = [{ name: "careless", request }] as unknown as Stage[];
    const message = 'The stage "careless" failed: "request" must return an object with the "input"';
    const error = await assertRejects(async () => await passStages(stages, INPUT, about), GatewayError, message);
    assertEquals([error.status, error.details.tryNextTarget], [500, false]);
  });
}
