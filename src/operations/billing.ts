/** What the answers of upstreams cost a request: each is priced where it ends, by who gave it. */
import { estimateInputTokens, estimateTextTokens } from "../canonical/estimate.ts";
import type { ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { ReportedUsage } from "../canonical/usage.ts";
import type { Bill } from "../context/bill.ts";
import type { Recorder } from "../context/recorder.ts";
import type { HostedResult } from "../canonical/hosted.ts";
import type { AnswerBill } from "../upstream/ask.ts";
import { weighRelayed } from "./carried.ts";

const CHARACTERS_PER_TOKEN = 4;

/** The bill of one answer that is to be asked for. */
export function billOf<K extends ModelOperation>(operation: K, bill: Bill, recorder: Recorder): AnswerBill<K> {
  return {
    follow(text) {
      // Of what is relayed or transcribed there is one answer, whose events are weighed on their way.
      bill.emitted = operation === "generate" ? () => text.length / CHARACTERS_PER_TOKEN : () => recorder.emittedTokens;
    },
    answered: (output) => settle(bill, reportIn(operation, output)),
    finished: (last) => settle(bill, reportAtEnd(last)),
    ended: (isGivenUp) => bill.end(isGivenUp),
  };
}

/** What an answer says of its own cost. */
interface Report {
  usage?: ReportedUsage;
  /** The length of sound that was transcribed. */
  seconds?: number;
  /** The tokens of the answer, estimated. */
  weigh?(): number;
}

function settle(bill: Bill, { usage = {}, seconds, weigh }: Report): void {
  if (seconds !== undefined) bill.settleSound(seconds);
  else bill.settle(usage, weigh);
}

function reportIn<K extends ModelOperation>(operation: K, output: Output<K>): Report {
  switch (operation) {
    case "generate": {
      const { usage, content } = output as Output<"generate">;
      return { usage, weigh: () => estimateInputTokens({ messages: [{ role: "assistant", content }] }) };
    }
    case "relay": {
      const { usage, body } = output as Output<"relay">;
      return { usage, weigh: () => weighRelayed(body) };
    }
    case "transcribe": {
      const { usage, text } = output as Output<"transcribe">;
      return { ...transcriptReport(usage), weigh: () => estimateTextTokens(text) };
    }
    case "embed":
    case "rerank":
      return { usage: { ...(output as Output<"embed" | "rerank">).usage, outputTokens: 0 } };
    default:
      // No server reports how many tokens its speech was; what it was made of is known.
      return { usage: { outputTokens: 0 } };
  }
}

function reportAtEnd(event: StreamEvent<ModelOperation>): Report {
  if (event.type !== "finish") return {};
  if ("transcript" in event) return transcriptReport(event.transcript.usage);
  return { usage: event.usage };
}

function transcriptReport(usage: Output<"transcribe">["usage"]): Report {
  return usage && "seconds" in usage ? { seconds: usage.seconds } : { usage };
}

const ONE_SEARCH: ReportedUsage = { inputTokens: 0, outputTokens: 0, hostedUses: { webSearch: 1 } };

/** A search that the gateway runs for the model that was asked last. One that fails costs nothing. */
export async function billSearch(
  run: () => Promise<HostedResult>,
  recorder: Recorder,
  signal: AbortSignal,
): Promise<HostedResult> {
  const bill = recorder.openSearch();
  const result = await run();
  if (result.kind === "error") bill?.end(signal.aborted);
  else bill?.settle(ONE_SEARCH);
  return result;
}
