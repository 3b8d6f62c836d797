/** Pictures at the hub's providers. The code is loaded with the first request. */
import type { Driver, UpstreamOperation } from "../../src/contract/driver.ts";
import { upstreamError } from "../shared/errors.ts";
import type * as Pictures from "./pictures.ts";

let pictures: typeof Pictures;

function load(): Promise<void> | undefined {
  return pictures ? undefined : import("./pictures.ts").then((loaded) => void (pictures = loaded));
}

/** How pictures are requested from a provider. */
export function drawAt(provider: Pictures.PictureProvider): UpstreamOperation<"draw"> {
  return {
    load,
    request: (input, target, context) => pictures.request(provider, input, target, context),
    next: ({ body }, input, step) => pictures.nextCall(provider, body, input, step),
    cancel: ({ body }) => pictures.WAYS[provider].cancel?.(body),
    response: (replies, input, _target, context) => pictures.parsePictures(replies, input, context),
  };
}

/** A provider whose pictures have a wire of their own. */
function driverOf(name: "together" | "wavespeed" | "zai"): Driver {
  return { name, wire: name, operations: { draw: drawAt(name) }, parseError: upstreamError };
}

export const pictureDrivers: readonly Driver[] = [driverOf("together"), driverOf("wavespeed"), driverOf("zai")];
