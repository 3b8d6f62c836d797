/** Gateways that the cases of the Open Responses compliance suite are run at: one before an upstream of each wire. */
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";

export const WIRES = ["chat", "messages", "responses"] as const;

export type Wire = typeof WIRES[number];

/** A gateway whose model `sandbox` is that of another gateway, which is asked in this wire. */
export function newAppBefore(wire: Wire): TestApp {
  let ids = 0;
  // Of both, so that none has an id of the other's.
  const newId = () => `x${String(++ids).padStart(4, "0")}x`;
  const other = newApp({ newId });
  const config: ConfigInput = {
    upstreams: { other: { driver: wire, baseUrl: "http://other/oss/v1", systemMessages: "anywhere" } },
    lanes: { oss: { models: { sandbox: { task: "chat", targets: [{ upstream: "other", model: "sandbox" }] } } } },
  };
  return newApp({ config, newId, fetch: (input, init) => other.fetch(new Request(input, init)) });
}
