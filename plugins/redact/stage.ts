/** The stage itself: requests with placeholders, and answers with originals. */
import { isJsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Input, ModelOperation, Operations, Output } from "../../src/canonical/operations.ts";
import type { Destination, Passed, Stage, StageContext } from "../../src/contract/stage.ts";
import { runSliced, type SlicedWork } from "../../src/util/sliced_work.ts";
import { mediumOf, refuseUnreadable } from "./media.ts";
import { MEDIA, type RedactOptions } from "./options.ts";
import { Placeholders } from "./placeholder.ts";
import { type Recognition, recognitionOf, redactValue } from "./redact.ts";
import { Originals } from "./restore.ts";
import {
  CompletionRestorer,
  EventRestorer,
  restoreCompletions,
  restoreResponse,
  restorerFor,
  restoreTranscript,
  TranscriptRestorer,
} from "./restore_answer.ts";
import { FrameRestorer } from "./restore_frames.ts";

export type Redaction = Required<Pick<Stage, "request" | "outgoing">>;

export function createRedaction(options: RedactOptions, key: Uint8Array): Redaction {
  const recognition = recognitionOf(options);
  return {
    request: (input, about) => runSliced(pass(input, about, recognition, key), about.signal),
    outgoing(value, { caller, signal, within }, to) {
      if (receivesOriginals(to, options)) return value;
      // A recording of a file that passed is no further loss.
      const isRecording = to.kind === "capture" || to.kind === "trace";
      const wanted = isRecording ? { ...recognition, unreadable: MEDIA } : recognition;
      const placeholders = new Placeholders(key, caller.owner);
      return runSliced(redactValue(value, wanted, placeholders, within), signal) as JsonValue;
    },
  };
}

/** Only a backend that the configuration names may: a request may name any server. */
function receivesOriginals({ kind, name, isConfigured }: Destination, { restoreFor }: RedactOptions): boolean {
  return isConfigured && (kind === "search" || kind === "mcp") && restoreFor.includes(name);
}

/** Operations whose answers have no text in which something could be put back, so that the client loses something. */
const WITHOUT_TEXT: ReadonlySet<ModelOperation> = new Set(["embed", "rerank", "speak", "draw"]);

function* pass<K extends ModelOperation>(
  input: Input<K>,
  about: StageContext,
  recognition: Recognition,
  key: Uint8Array,
): SlicedWork<Passed<K>> {
  refuseUnread(input, about.operation, recognition);
  const placeholders = new Placeholders(key, about.caller.owner);
  const { model, ...rest } = input;
  const redacted = yield* redactValue(rest, recognition, placeholders);
  const { originals: { size } } = placeholders;
  if (size === 0 && redacted === rest) return { input };
  if (WITHOUT_TEXT.has(about.operation)) about.note(`redacted ${size} ${size === 1 ? "text" : "texts"}`);
  const passed = { input: { ...redacted as typeof rest, model } as Input<K> };
  const isJson = answersInJson(input);
  return {
    ...passed,
    ...answerOf(about.operation, new Originals(placeholders.originals), isJson) as Partial<Passed<K>>,
  };
}

/** Data that no walk over texts sees. */
function refuseUnread(input: Input<ModelOperation>, operation: ModelOperation, { unreadable }: Recognition): void {
  if (operation === "transcribe") {
    refuseUnreadable(mediumOf((input as Operations["transcribe"]["input"]).file.mediaType), unreadable);
  }
  if (operation === "draw") {
    const { images = [], mask } = input as Operations["draw"]["input"];
    if (images.length > 0 || mask) refuseUnreadable("image", unreadable);
  }
  if (
    operation === "complete" &&
    (input as Operations["complete"]["input"]).prompts.some((one) => typeof one !== "string")
  ) {
    refuseUnreadable("tokens", unreadable);
  }
  if (operation === "embed" && (input as Operations["embed"]["input"]).input.some((one) => typeof one !== "string")) {
    refuseUnreadable("tokens", unreadable);
  }
}

/** Whether the texts of the answer are JSON. */
function answersInJson(input: Input<ModelOperation>): boolean {
  if ("outputSchema" in input) return input.outputSchema !== undefined;
  if (!("body" in input)) return false;
  const { response_format: format } = input.body;
  return isJsonObject(format) && typeof format.type === "string" && format.type.startsWith("json");
}

/** The way back of the answer. It holds the originals and nothing else of the request. */
function answerOf(operation: ModelOperation, originals: Originals, isJson: boolean): object {
  switch (operation) {
    case "generate":
      return {
        events: new EventRestorer(originals, isJson),
        output: (output: Output<"generate">) => restoreResponse(output, originals, isJson),
      };
    case "relay":
      return {
        events: new FrameRestorer(originals, isJson),
        output: (output: Output<"relay">) => ({ ...output, body: restorerFor(originals, isJson)(output.body) }),
      };
    case "complete":
      return {
        events: new CompletionRestorer(originals),
        output: (output: Output<"complete">) => restoreCompletions(output, originals),
      };
    case "transcribe":
      return {
        events: new TranscriptRestorer(originals),
        output: (output: Output<"transcribe">) => restoreTranscript(output, originals),
      };
    case "countTokens":
    case "decide":
    case "embed":
    case "rerank":
    case "speak":
    case "draw":
      return {};
    default:
      return operation satisfies never;
  }
}
