import { GatewayError, toGatewayError } from "../errors.ts";
import type { EventSource, Steps } from "../util/event_source.ts";

interface ErrorEvent {
  type: "error";
  error: GatewayError;
}

/** The changes to each event before it is passed on. */
export interface GuardOptions<E> {
  /** Maps an error. */
  changeError?(error: GatewayError): GatewayError;
  /** Maps any other event, except for more of the model's own words (`part-delta`). */
  change?(event: E): E;
  /** Called with each event that is passed on. */
  onEvent(event: E | ErrorEvent): void;
}

/**
 * Ensures that every stream ends properly: an exception becomes one final `error`, a stream that just stops is an error
 * too, and nothing follows `finish` or `error`. Never throws.
 */
export function guard<E extends { type: string }>(
  source: EventSource<E>,
  options: GuardOptions<E>,
): EventSource<E | ErrorEvent> {
  return new Guarded(source, options);
}

class Guarded<E extends { type: string }> implements EventSource<E | ErrorEvent> {
  readonly #source: EventSource<E>;
  readonly #options: GuardOptions<E>;
  #isOver = false;

  constructor(source: EventSource<E>, options: GuardOptions<E>) {
    this.#source = source;
    this.#options = options;
  }

  next(): Promise<readonly (E | ErrorEvent)[] | undefined> {
    return this.#isOver ? this.cancel().then(() => undefined) : this.#source.next().then(this.#pass, this.#end);
  }

  get steps(): Steps<E | ErrorEvent> | undefined {
    const steps = this.#isOver ? undefined : this.#source.steps;
    return steps && {
      read: steps.read,
      take: (got) => {
        const events = steps.take(got);
        return events instanceof Promise ? events.then(this.#pass, this.#end) : this.#pass(events);
      },
      fail: (thrown) => Promise.resolve(steps.fail(thrown)).then(this.#pass, this.#end),
    };
  }

  cancel(): Promise<void> {
    this.#isOver = true;
    return this.#source.cancel();
  }

  readonly #pass = (events: readonly E[] | undefined): readonly (E | ErrorEvent)[] => {
    if (!events) return [this.#fail(incomplete())];
    const { onEvent } = this.#options;
    /** Present once something is changed, which is rare. */
    let changed: (E | ErrorEvent)[] | undefined;
    let at = 0;
    try {
      while (at < events.length) {
        const one = events[at]!;
        const event = one.type === "part-delta" ? one : this.#reported(one);
        onEvent(event);
        if (event !== one) changed ??= events.slice(0, at);
        changed?.push(event);
        at++;
        if (event.type !== "finish" && event.type !== "error") continue;
        this.#isOver = true;
        break;
      }
    } catch (thrown) {
      return [...changed ?? events.slice(0, at), this.#fail(toGatewayError(thrown))];
    }
    return changed ?? (at < events.length ? events.slice(0, at) : events);
  };

  readonly #end = (thrown: unknown): ErrorEvent[] => [this.#fail(toGatewayError(thrown))];

  #reported(event: E): E | ErrorEvent {
    const { change = same, changeError = same } = this.#options;
    return isError(event) ? { ...event, error: changeError(event.error) } : change(event);
  }

  #fail(error: GatewayError): ErrorEvent {
    const { changeError = same, onEvent } = this.#options;
    this.#isOver = true;
    const event: ErrorEvent = { type: "error", error: changeError(error) };
    onEvent(event);
    return event;
  }
}

function same<T>(one: T): T {
  return one;
}

function incomplete(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
}

function isError(event: { type: string }): event is ErrorEvent {
  return event.type === "error";
}
