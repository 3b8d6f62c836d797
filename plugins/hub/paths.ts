import { GatewayError } from "../../src/errors.ts";

/** A model's name as a part of a path. It may come from a client, so it must not lead to another path. */
export function pathOf(model: string): string {
  const segments = model.split("/");
  if (segments.some((segment) => /^\.{0,2}$/.test(segment))) {
    throw new GatewayError("model_not_found", `Cannot find model "${model}"`, { param: "model" });
  }
  return segments.map(encodeSegment).join("/");
}

/** Encodes a segment. A lone surrogate has no encoding, so it is replaced. */
export function encodeSegment(segment: string): string {
  return encodeURIComponent(segment.toWellFormed());
}
