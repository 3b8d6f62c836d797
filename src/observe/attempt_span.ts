/** The span of one attempt. */
import { type Context, context, type Span, SpanKind, trace } from "@opentelemetry/api";
import type { GenerateEvent, GenerateRequest, OutputPart } from "../canonical/generate.ts";
import type { ReportedUsage } from "../canonical/usage.ts";
import {
  controlAttributes,
  fail,
  OPERATION_NAME,
  present,
  serverAttributes,
  type SpanWorld,
  usageAttributes,
} from "./span_attributes.ts";
import { inputContent, OutputContent } from "./span_content.ts";
import type { AttemptFacts, AttemptOutcome, AttemptTrace, SeenEvent } from "./trace.ts";

export class AttemptSpan implements AttemptTrace {
  readonly headers: Readonly<Record<string, string>>;
  readonly within?: <T>(call: () => T) => T;
  readonly #world: SpanWorld;
  readonly #span: Span;
  readonly #since = performance.now();
  readonly #hide: AttemptFacts["hide"];
  readonly #content: OutputContent | undefined;
  #firstMs: number | undefined;
  #finish: string | undefined;
  #usage: ReportedUsage | undefined;
  #isOver = false;

  constructor(
    world: SpanWorld,
    facts: AttemptFacts,
    parent: Context,
    headersOf: (span: Span) => Record<string, string>,
  ) {
    this.#world = world;
    const { where, operation, hide, input } = facts;
    const { integer, maker } = world;
    const name = OPERATION_NAME[operation];
    this.#span = maker.startSpan(`${name} ${where.model}`, { kind: SpanKind.CLIENT }, parent);
    this.headers = headersOf(this.#span);
    if (world.isAutomatic) {
      const own = trace.setSpan(parent, this.#span);
      const within: AttemptTrace["within"] = (call) => context.with(own, call);
      this.within = within;
    }
    this.#hide = hide;
    if (world.content && input) this.#content = new OutputContent(hide);
    this.#span.setAttributes(present({
      "gen_ai.operation.name": name,
      "gen_ai.provider.name": where.upstream,
      "gen_ai.request.model": where.model,
      "gen_ai.request.stream": facts.stream || undefined,
      "laneway.attempt.reason": facts.reason,
      ...serverAttributes(facts.baseUrl, integer),
      ...input && controlAttributes(input, integer),
    }));
  }

  asked(input: GenerateRequest): void {
    if (this.#content) this.#span.setAttributes(present(inputContent(input, this.#hide)));
  }

  write(event: GenerateEvent): void {
    this.#content?.see(event);
  }

  writes(content: readonly OutputPart[]): void {
    this.#content?.add(content);
  }

  see(event: SeenEvent): void {
    if (event.type !== "start") this.#firstMs ??= performance.now() - this.#since;
    if (event.type === "finish") this.#conclude(event);
  }

  #conclude({ finish, usage }: { finish?: { reason: string }; usage?: ReportedUsage }): void {
    this.#finish = finish?.reason.replaceAll("-", "_");
    this.#usage = usage;
  }

  end({ error, isAbandoned, answer, provider }: AttemptOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { integer } = this.#world;
    if (answer) this.#conclude(answer);
    this.#span.setAttributes(present({
      "gen_ai.response.finish_reasons": this.#finish === undefined ? undefined : [this.#finish],
      "gen_ai.response.time_to_first_chunk": this.#firstMs === undefined ? undefined : this.#firstMs / 1000,
      "http.response.status_code": error?.upstreamStatus === undefined ? undefined : integer(error.upstreamStatus),
      "laneway.provider": provider,
      "laneway.attempt.abandoned": isAbandoned && this.#finish === undefined ? true : undefined,
      ...this.#usage && usageAttributes(this.#usage, integer),
      ...this.#content?.attributes(this.#finish),
    }));
    if (error) fail(this.#span, error.code);
    this.#span.end();
  }
}
