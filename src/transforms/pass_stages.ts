/** Passes a request through the stages of plugins, and its answer back through them. */
import type { JsonValue } from "../canonical/json.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import {
  type Destination,
  type OutgoingContext,
  type Passed,
  type Stage,
  type StageContext,
  stageError,
} from "../contract/stage.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { GatewayError } from "../errors.ts";
import type { SlicedWork } from "../util/sliced_work.ts";

/** A request as it goes to the driver, and the way of its answer back through each stage, the last stage first. */
export interface PassedAll<K extends ModelOperation> {
  input: Input<K>;
  back: readonly Back<K>[];
}

/** How an answer passes one stage. A stage may change only events, or only whole answers. */
export type Back<K extends ModelOperation> = Pick<Passed<K>, "events" | "output">;

/** Passes the request through the stages in order. Returns a promise only if one of them waits. */
export function passStages<K extends ModelOperation>(
  stages: readonly Stage[],
  input: Input<K>,
  about: StageContext,
): PassedAll<K> | Promise<PassedAll<K>> {
  return passFrom(0, stages, { input, back: [] }, about);
}

function passFrom<K extends ModelOperation>(
  first: number,
  stages: readonly Stage[],
  passed: PassedAll<K>,
  about: StageContext,
): PassedAll<K> | Promise<PassedAll<K>> {
  let current = passed;
  for (let at = first; at < stages.length; at++) {
    const stage = stages[at]!;
    if (!stage.request || stage.operations?.includes(about.operation) === false) continue;
    const next = requestOf<K>(stage, current.input, about);
    if (!(next instanceof Promise)) {
      current = joined(stage.name, next, current);
      continue;
    }
    const before = current;
    return next.then(
      (found) => passFrom(at + 1, stages, joined(stage.name, found, before), about),
      (thrown) => Promise.reject(stageError(stage.name, thrown)),
    );
  }
  return current;
}

function requestOf<K extends ModelOperation>(stage: Stage, input: Input<K>, about: StageContext) {
  try {
    return stage.request!<K>(input, about);
  } catch (thrown) {
    throw stageError(stage.name, thrown);
  }
}

/** Keeps only what the answer needs, and no earlier input. Stages of programs that nobody type-checked may return anything. */
function joined<K extends ModelOperation>(
  name: string,
  passed: Passed<K>,
  { back }: PassedAll<K>,
): PassedAll<K> {
  if (!passed?.input) {
    const message = `The stage "${name}" failed: "request" must return an object with the "input"`;
    throw new GatewayError("internal", message, { own: true, tryNextTarget: false });
  }
  const { input, events, output } = passed;
  if (!events && !output) return { input, back };
  const own = { events: events && guarded(name, events), output: output && guardedChange(name, output) };
  return { input, back: [own, ...back] };
}

/** The change of a whole answer, whose errors name the stage. */
function guardedChange<T>(name: string, change: (output: T) => T): (output: T) => T {
  return (output) => {
    try {
      return change(output);
    } catch (thrown) {
      throw stageError(name, thrown);
    }
  };
}

/** The transform, whose errors name the stage. */
function guarded<E>(name: string, transform: StreamTransform<E>): StreamTransform<E> {
  return {
    get passesDeltas() {
      return transform.passesDeltas;
    },
    push(event, emit) {
      try {
        const work = transform.push(event, emit);
        return work && guardedWork(name, work);
      } catch (thrown) {
        throw stageError(name, thrown);
      }
    },
  };
}

function* guardedWork(name: string, work: SlicedWork<void>): SlicedWork<void> {
  try {
    yield* work;
  } catch (thrown) {
    throw stageError(name, thrown);
  }
}

/** The value as it may leave the gateway for a destination besides upstreams. Returns a promise only if a stage waits. */
export function passOutgoing(
  stages: readonly Stage[],
  value: JsonValue,
  about: OutgoingContext,
  to: Destination,
): JsonValue | Promise<JsonValue> {
  let current: JsonValue | Promise<JsonValue> = value;
  for (const stage of stages) {
    if (!stage.outgoing) continue;
    current = current instanceof Promise
      ? current.then((given) => outgoingOf(stage, given, about, to))
      : outgoingOf(stage, current, about, to);
  }
  return current;
}

function outgoingOf(
  stage: Stage,
  value: JsonValue,
  about: OutgoingContext,
  to: Destination,
): JsonValue | Promise<JsonValue> {
  try {
    const changed = stage.outgoing!(value, about, to);
    return changed instanceof Promise
      ? changed.catch((thrown) => Promise.reject(stageError(stage.name, thrown)))
      : changed;
  } catch (thrown) {
    throw stageError(stage.name, thrown);
  }
}
