/**
 * The laws that every plugin of conversations keeps, for the tests of your own:
 *
 * ```ts
 * import { laws } from "@laneway/gateway/testing";
 *
 * for (const { name, check } of laws({ protocol: mine, … })) Deno.test(name, check);
 * ```
 *
 * Only the plugin is run, without a server, a clock or a network.
 */
import { driverLaws, type DriverSample } from "./driver_laws.ts";
import type { Law } from "./law.ts";
import { protocolLaws, type ProtocolSample } from "./protocol_laws.ts";

export type { DriverSample, Law, ProtocolSample };
export type { Read } from "./protocol_laws.ts";
export { assertWellFormed } from "./well_formed.ts";
export { readEvents, writeFrames } from "./stages.ts";

/** The laws for a plugin, checked on a sample exchange. */
export function laws(sample: ProtocolSample | DriverSample): Law[] {
  return "protocol" in sample ? protocolLaws(sample) : driverLaws(sample);
}
