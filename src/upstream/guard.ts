import { GatewayError, toGatewayError } from "../errors.ts";
import type { EventSource } from "../util/event_source.ts";

interface ErrorEvent {
  type: "error";
  error: GatewayError;
}

/** The changes to each event before it is passed on. */
export interface GuardOptions<E> {
  /** Maps an error. */
  changeError?(error: GatewayError): GatewayError;
  /** Maps any other event. */
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
  { changeError = (error) => error, change = (event) => event, onEvent }: GuardOptions<E>,
): EventSource<E | ErrorEvent> {
  let isOver = false;
  const reported = (event: E): E | ErrorEvent =>
    isError(event) ? { ...event, error: changeError(event.error) } : change(event);
  const fail = (error: GatewayError): ErrorEvent => {
    isOver = true;
    const event: ErrorEvent = { type: "error", error: changeError(error) };
    onEvent(event);
    return event;
  };
  const pass = (events: readonly E[] | undefined): (E | ErrorEvent)[] => {
    if (!events) return [fail(incomplete())];
    const passed: (E | ErrorEvent)[] = [];
    try {
      for (const one of events) {
        const event = reported(one);
        onEvent(event);
        passed.push(event);
        isOver = event.type === "finish" || event.type === "error";
        if (isOver) break;
      }
    } catch (thrown) {
      passed.push(fail(toGatewayError(thrown)));
    }
    return passed;
  };
  const end = (thrown: unknown): ErrorEvent[] => [fail(toGatewayError(thrown))];
  return {
    next: () => isOver ? source.cancel().then(() => undefined) : source.next().then(pass, end),
    cancel() {
      isOver = true;
      return source.cancel();
    },
  };
}

function incomplete(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
}

function isError(event: { type: string }): event is ErrorEvent {
  return event.type === "error";
}
