import { GatewayError } from "../../src/errors.ts";

/** A model's name as a part of a path. A client may have written it, so it can lead nowhere else. */
export function pathOf(model: string): string {
  const segments = model.split("/");
  if (segments.some((segment) => /^\.{0,2}$/.test(segment))) {
    throw new GatewayError("model_not_found", `Cannot find model "${model}"`, { param: "model" });
  }
  return segments.map(encodeSegment).join("/");
}

/** Half of a pair of surrogates has no encoding. */
export function encodeSegment(segment: string): string {
  return encodeURIComponent(segment.toWellFormed());
}
