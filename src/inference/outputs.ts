/** How answers leave: whole or as a stream, written by the protocol of their operation. */
import { collectFrom } from "../canonical/collect.ts";
import { estimateInputTokens, estimateTextTokens } from "../canonical/estimate.ts";
import type { CompleteEvent } from "../canonical/complete.ts";
import type { DrawEvent } from "../canonical/draw.ts";
import type { GenerateEvent, GenerateResponse } from "../canonical/generate.ts";
import type { ModelOperation, Output } from "../canonical/operations.ts";
import { replayAtOnce } from "../canonical/replay.ts";
import type { ReportedUsage, Usage } from "../canonical/usage.ts";
import { transformed } from "../transforms/apply.ts";
import { type EventSource, sourceOf } from "../util/event_source.ts";
import { runStep } from "../util/sliced_work.ts";
import { watching } from "./answer.ts";
import type { Passage } from "./answer_loop.ts";
import { learn } from "./counting.ts";
import { forgetPrompts } from "./incoming.ts";
import type { Answer, AnswerPass, Inference } from "./inference.ts";
import { weighRelayed } from "./mask_secrets.ts";
import { serveSpeech } from "./speech.ts";
import { storing } from "./storage.ts";
import { respondWithStream } from "./stream_response.ts";

export type Serve<K extends ModelOperation> = (
  inference: Inference<K>,
  answer: Answer<K>,
  passes: readonly AnswerPass<K>[],
) => Promise<Response>;

/** The operations that are served by asking a model. */
export type InferredOperation = Exclude<ModelOperation, "countTokens">;

export const SERVE: { readonly [K in InferredOperation]: Serve<K> } = {
  generate: serveConversation,
  relay: serveRelayed,
  complete: serveCompletions,
  decide: serveDecisions,
  embed: serveVectors,
  rerank: serveVectors,
  speak: serveSpeech,
  transcribe: serveTranscript,
  draw: servePictures,
};

async function serveConversation(
  { protocol, exchange, context }: Inference<"generate">,
  answer: Answer<"generate">,
  passes: readonly AnswerPass<"generate">[],
): Promise<Response> {
  if (exchange.input.stream) return respondWithStream(protocol, exchange, answer, context, passageOf(passes));
  const answered = await answer.whole();
  const { requestLog, gateway, signal } = context;
  const changing = changed(answered, passes);
  const output = changing instanceof Promise ? await changing : changing;
  requestLog.settle(
    output.usage,
    () => estimateInputTokens({ messages: [{ role: "assistant", content: output.content }] }),
  );
  learn(output.usage, requestLog.attempt, gateway.counting);
  // Before it is serialized: which fields of the answer are noted as lost depends on whether it is stored.
  for (const { completed } of passes) {
    const storing = completed?.(output);
    if (storing) await storing;
  }
  const passing = passed(output, passes, signal);
  return protocol.serialize(passing instanceof Promise ? await passing : passing, exchange);
}

/** The answer as the passes change it. Returns a promise only if that took long. */
function changed<T extends object>(
  output: T,
  passes: readonly Pick<AnswerPass<ModelOperation>, "change">[],
): T | Promise<T> {
  const change = changeBy(passes);
  return change ? runStep(() => change(output)) : output;
}

/** All changes in one. `undefined` if there are none. */
function changeBy(
  passes: readonly Pick<AnswerPass<ModelOperation>, "change">[],
): (<T extends object>(value: T) => T) | undefined {
  const changing = passes.filter(({ change }) => change);
  return changing.length === 0 ? undefined : (value) => changing.reduce((before, { change }) => change!(before), value);
}

/** The passes of a streamed answer. */
function passageOf(passes: readonly AnswerPass<"generate">[]): Passage<GenerateEvent> {
  const opening = passes.filter(({ opens }) => opens);
  const stores = passes.flatMap(({ completed }) => completed ? [storing(completed)] : []);
  const transforms = passes.flatMap(({ watch, completed, transforms = [] }) => [
    ...watch ? [watching(watch)] : [],
    ...completed ? stores.map(({ transform }) => transform) : [],
    ...transforms,
  ]);
  const change = changeBy(passes);
  if (opening.length + stores.length === 0) return { change, transforms };
  return {
    change,
    transforms,
    before(event) {
      if (event.type !== "part-start") return stores[0]?.before(event);
      for (const { opens } of opening) {
        const work = opens!(event.part);
        if (work) return work;
      }
      return undefined;
    },
  };
}

/** A whole answer once it has passed. It is replayed only if a pass sees something in it. */
function passed(
  output: GenerateResponse,
  passes: readonly AnswerPass<"generate">[],
  signal: AbortSignal,
): GenerateResponse | Promise<GenerateResponse> {
  const seeing: AnswerPass<"generate">[] = [];
  for (const pass of passes) {
    pass.watch?.(output);
    if (pass.watch) { for (const part of output.content) pass.watch(part); }
    if (pass.transforms && (pass.sees?.(output) || output.content.some(pass.sees ?? isAny))) seeing.push(pass);
  }
  return seeing.length === 0 ? output : passThrough(output, seeing, signal);
}

const isAny = () => true;

async function passThrough(
  output: GenerateResponse,
  passes: readonly AnswerPass<"generate">[],
  signal: AbortSignal,
): Promise<GenerateResponse> {
  let source: EventSource<GenerateEvent> | undefined;
  for (const { transforms = [], opens } of passes) {
    for (const part of opens ? output.content : []) await opens!(part)?.();
    source ??= sourceOf(replayAtOnce(output));
    for (const transform of transforms) source = transformed(source, transform, signal);
  }
  return source ? await collectFrom(source) : output;
}

async function serveRelayed(
  { protocol, exchange, context }: Inference<"relay">,
  answer: Answer<"relay">,
  passes: readonly AnswerPass<"relay">[],
): Promise<Response> {
  if (exchange.input.stream) {
    return respondWithStream(protocol, exchange, answer, context, { change: changeBy(passes) });
  }
  const output = await changed(await answer.whole(), passes);
  context.requestLog.settle(output.usage ?? {}, () => weighRelayed(output.body));
  return protocol.serialize(output, exchange);
}

/** Answers with completions. Tokens that the upstream does not report are estimated. */
async function serveCompletions(
  { protocol, exchange, context, estimate }: Inference<"complete">,
  answer: Answer<"complete">,
  passes: readonly AnswerPass<"complete">[],
): Promise<Response> {
  const { requestLog } = context;
  if (exchange.input.stream) {
    const change = changeBy(passes);
    const counted = <T extends { type: string }>(event: T): T =>
      isEnd(event) ? { ...event, usage: countedUsage(event.usage, estimate, requestLog.emittedTokens) } : event;
    const passage = { change: <T extends CompleteEvent>(event: T) => counted(change ? change(event) : event) };
    forgetPrompts(exchange, protocol);
    return respondWithStream(protocol, exchange, answer, context, passage);
  }
  const output = await changed(await answer.whole(), passes);
  const emitted = output.choices.reduce((sum, { text }) => sum + estimateTextTokens(text), 0);
  requestLog.settle(output.usage, () => emitted);
  return protocol.serialize({ ...output, usage: countedUsage(output.usage, estimate, emitted) }, exchange);
}

/** Answers questions. Tokens that the upstream does not report are estimated. */
async function serveDecisions(
  { protocol, exchange, context, estimate }: Inference<"decide">,
  answer: Answer<"decide">,
  passes: readonly AnswerPass<"decide">[],
): Promise<Response> {
  const output = await changed(await answer.whole(), passes);
  const { usage, answers } = output;
  context.requestLog.settle(usage, () => answers.length);
  return protocol.serialize({ ...output, usage: countedUsage(usage, estimate, answers.length) }, exchange);
}

function isEnd(event: { type: string }): event is Extract<CompleteEvent, { type: "finish" }> {
  return event.type === "finish";
}

function countedUsage(usage: ReportedUsage, inputTokens: number, emitted: number): Usage {
  const isReported = usage.inputTokens !== undefined && usage.outputTokens !== undefined;
  return { inputTokens, outputTokens: Math.ceil(emitted), ...usage, ...(!isReported && { estimated: true }) };
}

async function serveVectors<K extends "embed" | "rerank">(
  { protocol, exchange, context }: Inference<K>,
  answer: Answer<K>,
  passes: readonly AnswerPass<K>[],
): Promise<Response> {
  const output: Output<"embed" | "rerank"> = await changed(await answer.whole(), passes);
  context.requestLog.settle({ ...output.usage, outputTokens: 0 }, () => 0);
  return protocol.serialize(output, exchange);
}

async function serveTranscript(
  { protocol, exchange, context }: Inference<"transcribe">,
  answer: Answer<"transcribe">,
  passes: readonly AnswerPass<"transcribe">[],
): Promise<Response> {
  if (exchange.input.stream) {
    return respondWithStream(protocol, exchange, answer, context, { change: changeBy(passes) });
  }
  const output = await changed(await answer.whole(), passes);
  const { requestLog } = context;
  const emitted = estimateTextTokens(output.text);
  if (output.usage && "inputTokens" in output.usage) requestLog.settle(output.usage, () => emitted);
  else requestLog.emittedTokens = emitted;
  return protocol.serialize(output, exchange);
}

/** Few upstreams count the tokens of pictures. Those of the prompt are known. */
async function servePictures(
  { protocol, exchange, context, estimate }: Inference<"draw">,
  answer: Answer<"draw">,
  passes: readonly AnswerPass<"draw">[],
): Promise<Response> {
  const change = changeBy(passes);
  const counted = <T extends object>(one: T): T =>
    "usage" in one ? { ...one, usage: countedUsage(one.usage as ReportedUsage, estimate, 0) } : one;
  if (exchange.input.stream) {
    const passage = { change: <T extends DrawEvent>(event: T) => counted(change ? change(event) : event) };
    return respondWithStream(protocol, exchange, answer, context, passage);
  }
  const output = counted(await changed(await answer.whole(), passes));
  context.requestLog.settle(output.usage, () => 0);
  return protocol.serialize(output, exchange);
}
