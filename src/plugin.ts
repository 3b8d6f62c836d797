/**
 * Everything needed to write a plugin: the contracts, the canonical form, and the few tools that built-in plugins
 * share. A plugin is a pure, synchronous object. Pass it to `run({ plugins })` or `createApp({ plugins })`.
 *
 * ```ts
 * import type { Driver } from "@laneway/gateway/plugin";
 *
 * export const myDriver: Driver = { name: "mine", operations: { … }, parseError: … };
 * ```
 */
export * from "./canonical/audio.ts";
export type * from "./canonical/decide.ts";
export * from "./canonical/embed.ts";
export * from "./canonical/estimate.ts";
export * from "./canonical/extra.ts";
export * from "./canonical/generate.ts";
export * from "./canonical/json.ts";
export * from "./canonical/media.ts";
export * from "./canonical/models.ts";
export * from "./canonical/operations.ts";
export type * from "./canonical/price.ts";
export * from "./canonical/rerank.ts";
export * from "./canonical/usage.ts";
export * from "./contract/call.ts";
export * from "./contract/catalog.ts";
export * from "./contract/context.ts";
export * from "./contract/description.ts";
export * from "./contract/driver.ts";
export * from "./contract/frame.ts";
export type * from "./contract/intake.ts";
export * from "./contract/path_pattern.ts";
export * from "./contract/protocol.ts";
export type * from "./contract/provider.ts";
export type * from "./contract/quirks.ts";
export type * from "./contract/stage.ts";
export * from "./contract/stream.ts";
export * from "./contract/validate.ts";
export * from "./errors.ts";
export * from "./transforms/part_writer.ts";
export type { SlicedWork } from "./util/sliced_work.ts";
/** For the schemas that `validate` accepts. Those of another version of zod may not be compatible. */
export { z } from "zod";
