/** Stages of plugins: each request to a target passes them directly before the call, and its answer directly after. */
import { collectFrom } from "../canonical/collect.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../canonical/generate.ts";
import type { Input, ModelOperation, StreamEvent } from "../canonical/operations.ts";
import { replayAtOnce } from "../canonical/replay.ts";
import type { AttemptRecord } from "../context/request_log.ts";
import type { StageContext } from "../contract/stage.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { apply, transformed } from "../transforms/apply.ts";
import { type Back, type PassedAll, passStages } from "../transforms/pass_stages.ts";
import type { WayBack } from "../upstream/attempt.ts";
import { untilAborted } from "../util/abort.ts";
import { type EventSource, sourceOf } from "../util/event_source.ts";
import { FACT } from "./facts.ts";
import type { Inference, Note, Stage } from "./inference.ts";
import { beginStep, type Step } from "./steps.ts";

/**
 * Takes the changes of the plugins' stages back in the answer. The request passes them by `passPlugins`, once it is
 * prepared for the target.
 */
export const PLUGIN_STAGES: Stage = {
  name: "stages of plugins",
  operations: ["generate", "relay", "complete", "decide", "embed", "rerank", "speak", "transcribe", "draw"],
  needs: FACT.staged,
  around(inference, ask) {
    const { operation, attempt, target, context: { requestLog } } = inference;
    const { wayBack, signal } = attempt!;
    if (!wayBack) return ask(inference);
    const answer = ask(inference);
    const trace = target && requestLog.attemptAt(target)?.trace;
    const whole = async () => {
      let output = await answer.whole();
      const isConversation = operation === "generate";
      if (isConversation) trace?.writes((output as GenerateResponse).content);
      for (const back of wayBack.back) {
        if (back.output) output = back.output(output);
        else if (isConversation) output = await replayedThrough(back, output as GenerateResponse, signal);
      }
      return output;
    };
    const see = (events: readonly StreamEvent<ModelOperation>[]) => {
      if (trace) { for (const event of events) trace.write(event as GenerateEvent); }
    };
    return Object.assign(eventsBack(answer, wayBack, see, signal), { whole });
  },
};

/** A whole answer once it has passed a stage that changes only events. */
function replayedThrough(
  { events }: Back<ModelOperation>,
  response: GenerateResponse,
  signal: AbortSignal,
): Promise<GenerateResponse> {
  const replay = sourceOf(replayAtOnce(response));
  return collectFrom(events ? transformed(replay, events as StreamTransform<GenerateEvent>, signal) : replay);
}

function eventsBack<K extends ModelOperation>(
  source: EventSource<StreamEvent<K>>,
  wayBack: WayBack<K>,
  see: (events: readonly StreamEvent<K>[]) => void,
  signal: AbortSignal,
): EventSource<StreamEvent<K>> {
  let transforms: readonly StreamTransform<StreamEvent<K>>[] | undefined;
  return {
    async next() {
      for (;;) {
        const events = await source.next();
        if (!events) return undefined;
        see(events);
        transforms ??= wayBack.back.flatMap(({ events }) => events ?? []);
        const back = await apply(transforms, events, signal);
        if (back.length > 0) return back;
      }
    },
    cancel: () => source.cancel(),
  };
}

/** The facts about an attempt that its stages may know. */
interface Asked {
  attempt: AttemptRecord;
  signal: AbortSignal;
  note: Note;
}

/** The prepared request once it has passed the stages. `wayBack` receives how its answer passes them. */
export async function passPlugins<K extends ModelOperation>(
  inference: Inference<K>,
  prepared: Input<K>,
  { attempt, signal, note }: Asked,
  wayBack: WayBack<K>,
): Promise<Input<K>> {
  const { operation, input: { model }, lane, context, steps } = inference;
  const { caller: { name, owner }, gateway, clientWire, requestLog } = context;
  requestLog.capture?.asks(prepared);
  const about: StageContext = {
    operation,
    caller: { name, owner },
    lane: lane.name,
    model,
    target: attempt.target,
    clientWire,
    signal,
    note,
  };
  const passing = steps
    ? passExplained(inference, prepared, about, steps)
    : passStages(gateway.stages, prepared, about);
  // A stage may wait for something that does not notice that the client has left.
  const { input, back } = passing instanceof Promise ? await untilAborted(passing, signal) : passing;
  wayBack.back = back;
  if ("messages" in input) attempt.trace?.asked(input as GenerateRequest);
  return input;
}

/** Passes one stage after the other, and records what each did. */
async function passExplained<K extends ModelOperation>(
  { context: { gateway } }: Inference<K>,
  prepared: Input<K>,
  about: StageContext,
  steps: Step[],
): Promise<PassedAll<K>> {
  let input = prepared;
  for (const stage of gateway.stages) {
    const step = beginStep(stage.name, about.note, steps);
    const passed = await passStages([stage], input, { ...about, note: step.note });
    step.end(input, passed.input);
    input = passed.input;
  }
  return { input, back: [] };
}
