import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { pathOf } from "./paths.ts";
import { parseVectors, serializeInputs } from "./tei.ts";

/** Vectors by the hub's own engine. It has no tokenizer's ids at its door: those are for another place of the model. */
export const featureExtraction: UpstreamOperation<"embed"> = {
  request(input, target, context) {
    const index = input.input.findIndex((one) => typeof one !== "string");
    if (index >= 0) {
      const message = `The hub's own engine embeds only texts, and input ${index} is a list of token ids`;
      throw new GatewayError("unsupported", message, { param: "input" });
    }
    const path = `models/${pathOf(target.model)}/pipeline/feature-extraction`;
    return serializeInputs(input, target, context).map((body) => ({ path, body }));
  },
  response: parseVectors,
};
