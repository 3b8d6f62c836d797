/** Reads a streamed answer as the wire's clients do. */
import { weighText } from "../../src/canonical/estimate.ts";
import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { asObject, asObjects, asText, type JsonObject, readJson, toJsonText } from "../../src/canonical/json.ts";
import { asTotal, completeUsage, reportedTotals } from "../../src/canonical/usage.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import { PartWriter } from "../../src/transforms/part_writer.ts";
import { upstreamStreamError } from "../shared/errors.ts";

/** A stream of lines. The line with `done` is the last. */
export function parseStream(input: GenerateRequest, context: AnswerContext): StreamReader<GenerateEvent> {
  return new LineReader(input, context);
}

class LineReader implements StreamReader<GenerateEvent> {
  done = false;
  readonly #writer: PartWriter;
  readonly #context: AnswerContext;
  readonly #model: string;
  #hasBegun = false;
  #calls = 0;
  #weight = 0;

  constructor(input: GenerateRequest, context: AnswerContext) {
    this.#writer = new PartWriter(input, context);
    this.#context = context;
    this.#model = input.model;
  }

  read({ data }: Frame, emit: Emit<GenerateEvent>): void {
    if (!data?.trim()) return;
    const line = readJson(data);
    if (line === undefined) throw new GatewayError("upstream_error", "The stream holds a line that is not JSON");
    const { error, model, message, done, ...rest } = asObject(line);
    if (error) throw upstreamStreamError(line);
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      emit({ type: "start", model: asText(model) || this.#model, inputTokens: this.#context.inputTokens });
    }
    this.#readMessage(asObject(message)).forEach(emit);
    if (done === true) this.#finish(rest).forEach(emit);
  }

  end(): void {
    if (!this.done) throw new GatewayError("upstream_error", "The stream ended before the answer was complete");
  }

  #readMessage({ content, thinking, tool_calls }: JsonObject): GenerateEvent[] {
    const [text, thought] = [asText(content), asText(thinking)];
    this.#weight += weighText(text + thought);
    return [
      ...this.#writer.reasoning(thought),
      ...this.#writer.text(text),
      ...asObjects(tool_calls).flatMap((call) => this.#readCall(call)),
    ];
  }

  #readCall({ id, function: called }: JsonObject): GenerateEvent[] {
    const { name, arguments: args } = asObject(called);
    const key = String(this.#calls++);
    const input = toJsonText(args);
    this.#weight += weighText(input);
    const call = { id: asText(id), name: asText(name), input };
    return [...this.#writer.toolCall(key, call), ...this.#writer.endToolCall(key)];
  }

  #finish({ done_reason: reason, prompt_eval_count: input, eval_count: output }: JsonObject): GenerateEvent[] {
    this.done = true;
    const reported = reportedTotals(asTotal(input), asTotal(output), undefined);
    const usage = completeUsage(reported, this.#context, this.#weight);
    return this.#writer.finish({ reason: reason === "length" ? "length" : "stop" }, usage);
  }
}
