/**
 * Repairs tool arguments that are not JSON, if the result is certain. That is known only once they are complete, so a
 * stream then sends the arguments of a call in one piece.
 */
import type { FunctionTool, GenerateEvent, GenerateRequest } from "../canonical/generate.ts";
import { isJsonObject, isJsonText, type JsonObject } from "../canonical/json.ts";
import { type Budget, fits, newBudget } from "./json_schema.ts";
import { readLongNearJson } from "./near_json.ts";
import type { Emit, StreamTransform } from "../contract/stream.ts";
import type { SlicedWork } from "../util/sliced_work.ts";

type Note = (text: string) => void;
type Tools = Pick<GenerateRequest, "tools">;

interface HeldCall {
  name: string;
  input: string;
  /** Once it arrives, the rest of the answer shows whether the call was cut off. */
  end?: GenerateEvent & { type: "part-end" };
}

export function repairCalls(request: Tools, note: Note): StreamTransform<GenerateEvent> {
  const budget = newBudget();
  let held: HeldCall | undefined;
  const pass = (event: GenerateEvent, emit: Emit<GenerateEvent>) => {
    if (event.type === "part-start" && event.part.type === "tool-call" && event.part.kind === "function") {
      held = { name: event.part.name, input: "" };
      emit(event);
    } else if (held && event.type === "part-delta") held.input += event.delta.text;
    else if (held && event.type === "part-end") {
      if (isJsonText(held.input)) {
        emit(inputOf(event.index, held.input));
        emit(event);
        held = undefined;
      } else held.end = event;
    } else emit(event);
  };
  function* release(
    call: HeldCall,
    end: GenerateEvent & { type: "part-end" },
    next: GenerateEvent,
    emit: Emit<GenerateEvent>,
  ): SlicedWork<void> {
    const isCut = next.type === "finish" && next.finish.reason === "length";
    emit(inputOf(end.index, isCut ? kept(call, note) : yield* repaired(call, request, note, budget)));
    emit(end);
    held = undefined;
    pass(next, emit);
  }
  return {
    push: (event, emit) => held?.end ? release(held, held.end, event, emit) : pass(event, emit),
  };
}

function inputOf(index: number, text: string): GenerateEvent {
  return { type: "part-delta", index, delta: { type: "tool-input", text } };
}

/** A call that was cut off is never repaired. */
function kept({ name, input }: HeldCall, note: Note): string {
  note(`kept arguments of ${name} that are not JSON`);
  return input;
}

function* repaired(call: HeldCall, { tools }: Tools, note: Note, budget: Budget): SlicedWork<string> {
  const near = yield* readLongNearJson(call.input);
  const tool = tools?.find((one): one is FunctionTool => one.type === "function" && one.name === call.name);
  if (!near || !tool || !fits(tool.parameters, near.value, budget) || (near.isOpen && !isFull(tool, near.value))) {
    return kept(call, note);
  }
  note(`repaired arguments of ${call.name}`);
  return near.text;
}

/** Whether nothing can be missing before the missing brace, because the schema has no further properties. */
function isFull({ parameters }: FunctionTool, value: JsonObject): boolean {
  const { properties } = parameters ?? {};
  return isJsonObject(properties) && Object.keys(properties).length > 0 &&
    Object.keys(properties).every((name) => Object.hasOwn(value, name));
}
