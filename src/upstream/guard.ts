import { GatewayError, toGatewayError } from "../errors.ts";

interface ErrorEvent {
  type: "error";
  error: GatewayError;
}

/**
 * Makes every stream end as it must: what is thrown becomes the one final `error`, and a stream that just stops is an error
 * too. `tell` and `change` say how an error, and any other event, is told; `onEvent` sees each as it is told, first.
 */
export async function* guard<E extends { type: string }>(
  events: AsyncIterable<E>,
  onEvent: (event: E | ErrorEvent) => void,
  tell: (error: GatewayError) => GatewayError = (error) => error,
  change: (event: E) => E = (event) => event,
): AsyncGenerator<E | ErrorEvent> {
  let failure: GatewayError | undefined;
  try {
    for await (const heard of events) {
      const event = isError(heard) ? { ...heard, error: tell(heard.error) } : change(heard);
      onEvent(event);
      yield event;
      if (event.type === "finish" || event.type === "error") return;
    }
  } catch (thrown) {
    failure = toGatewayError(thrown);
  }
  failure ??= new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
  const event: ErrorEvent = { type: "error", error: tell(failure) };
  onEvent(event);
  yield event;
}

function isError(event: { type: string }): event is ErrorEvent {
  return event.type === "error";
}
