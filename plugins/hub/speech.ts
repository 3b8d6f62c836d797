/** Speech at the hub's own inference engine: a text goes in, sound comes back, and nothing else can be asked for. */
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { pathOf } from "./paths.ts";
import { parseSpeech } from "./sound.ts";

export const hubSpeech: UpstreamOperation<"speak"> = {
  request(input, { model }, context) {
    const { text, voice, speed, instructions, extra } = input;
    const left = { voice, speed: speed === 1 ? undefined : speed, instructions };
    for (const [name, value] of Object.entries(left)) if (value !== undefined) context.note(`dropped ${name}`);
    fieldsFor("hub", extra, context.note);
    // Where a request names JSON as acceptable, the engine writes the samples as JSON numbers.
    return { path: `models/${pathOf(model)}`, headers: { accept: "*/*" }, body: { inputs: text } };
  },
  response: ([reply], input, _target, context) => parseSpeech(reply!, input, context),
};
