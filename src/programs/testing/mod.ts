/**
 * The laws that every plugin of conversations keeps, for the tests of your own:
 *
 * ```ts
 * import { laws } from "@laneway/gateway/testing";
 *
 * for (const { name, check } of laws({ protocol: mine, … })) Deno.test(name, check);
 * ```
 *
 * Nothing but the plugin is run: no server, no clock, no network.
 */
import { driverLaws, type DriverSample } from "./driver_laws.ts";
import type { Law } from "./law.ts";
import { protocolLaws, type ProtocolSample } from "./protocol_laws.ts";

export type { DriverSample, Law, ProtocolSample };
export type { Read } from "./protocol_laws.ts";
export { assertWellFormed } from "./well_formed.ts";
export { readEvents, writeFrames } from "./stages.ts";

/** What is to be checked of a plugin, by what it says in a sample exchange. */
export function laws(sample: ProtocolSample | DriverSample): Law[] {
  return "protocol" in sample ? protocolLaws(sample) : driverLaws(sample);
}
