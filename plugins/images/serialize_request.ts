import { type DrawRequest, type GivenPicture, sizeText } from "../../src/canonical/draw.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Call } from "../../src/contract/call.ts";
import type { Context, FormField } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { refuseOtherTask } from "../shared/pictures.ts";
import { WIRE } from "./wire.ts";

/** The vendor's own models always return base64, and refuse to be asked for it. */
const ALWAYS_BASE64 = /(^|\/)(chat)?gpt-image/;

/** The call for a server of this wire. Given pictures go as files, unless one of them is only an address. */
export function serializeRequest(input: DrawRequest, target: Target, context: Context): Call {
  refuseOtherTask(input, target);
  const { images, mask } = input;
  const fields = fieldsOf(input, target, context);
  if (!images) return { path: "images/generations", body: fields };
  const given = mask ? [...images, mask] : images;
  if (given.some(({ type }) => type !== "bytes")) {
    const body = { ...fields, images: images.map(referTo), ...(mask && { mask: referTo(mask) }) };
    return { path: "images/edits", body };
  }
  const name = images.length > 1 ? "image[]" : "image";
  return {
    path: "images/edits",
    form: [
      ...Object.entries(fields).flatMap(([name, value]) => textsOf(name, value)),
      ...images.map((image) => fileOf(name, image)),
      ...(mask ? [fileOf("mask", mask)] : []),
    ],
  };
}

function fieldsOf(input: DrawRequest, target: Target, context: Context): JsonObject {
  const { count, size, stream, partials, wantsUrl } = input;
  const fields = {
    model: target.model,
    prompt: input.prompt,
    n: count > 1 ? count : undefined,
    size: size && sizeText(size),
    quality: input.quality,
    background: input.background,
    output_format: input.format,
    output_compression: input.compression,
    response_format: ALWAYS_BASE64.test(target.model) ? undefined : wantsUrl ? "url" : "b64_json",
    negative_prompt: input.negativePrompt,
    seed: input.seed,
    num_inference_steps: input.steps,
    guidance_scale: input.guidance,
    stream: stream || undefined,
    partial_images: stream ? partials : undefined,
    ...fieldsFor(WIRE, input.extra, context.note),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;
}

function referTo(picture: GivenPicture): JsonObject {
  switch (picture.type) {
    case "bytes":
      return { image_url: `data:${picture.mediaType};base64,${picture.bytes.toBase64()}` };
    case "url":
      return { image_url: picture.url };
    case "id":
      return { file_id: picture.id };
    default:
      return picture satisfies never;
  }
}

function textsOf(name: string, value: unknown): FormField[] {
  return [value].flat().map((one) => ({ name, value: typeof one === "object" ? JSON.stringify(one) : String(one) }));
}

function fileOf(name: string, picture: GivenPicture): FormField {
  if (picture.type !== "bytes") throw new GatewayError("internal", "A picture without its contents has no file");
  const { bytes, mediaType } = picture;
  return { name, file: { bytes, mediaType, name: `image.${mediaType.slice("image/".length)}` } };
}
