import type { DrawRequest, GivenPicture, PictureSize } from "../../src/canonical/draw.ts";
import { formatOf } from "../../src/canonical/draw.ts";
import { parseDataUrl } from "../../src/canonical/audio.ts";
import { extraField } from "../../src/canonical/extra.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import type { FormField, WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import {
  EDIT_KEYS,
  editSchema,
  FORM_NUMBERS,
  type ImagesRequest,
  MOST_GIVEN,
  REQUEST_KEYS,
  requestSchema,
  WIRE,
  type WireReference,
} from "./wire.ts";

/** A client's request for new pictures. `null` means absent. */
export function parseRequest({ body }: WireRequest): DrawRequest {
  const request = validate(requestSchema, body);
  return { ...common(request), ...extraField(WIRE, request, REQUEST_KEYS) };
}

/** A client's request to change pictures, as JSON. */
export function parseEdit({ body }: WireRequest): DrawRequest {
  const request = validate(editSchema, body);
  return {
    ...common(request),
    images: request.images.map((image, index) => parseReference(image, `images[${index}]`)),
    ...(request.mask && { mask: parseReference(request.mask, "mask") }),
    ...extraField(WIRE, request, EDIT_KEYS),
  };
}

/** A client's request to change pictures, as a form with files. */
export function parseEditForm({ body }: WireRequest): DrawRequest {
  const fields = body as FormField[];
  const images = fields.filter(({ name }) => IMAGE.test(name)).map((field, index) => parseFile(field, index));
  if (images.length === 0) refuse("image", 'The form has no file in its field "image"');
  if (images.length > MOST_GIVEN) refuse("image", `The form has more than ${MOST_GIVEN} images`);
  const [mask, another] = fields.filter(({ name }) => name === "mask");
  if (another) refuse("mask", "The form has more than one mask");
  const texts = collectTexts(fields.filter(({ name }) => !IMAGE.test(name) && name !== "mask"));
  const request = validate(requestSchema, texts);
  return {
    ...common(request),
    images,
    ...(mask && { mask: parseFile(mask, "mask") }),
    ...extraField(WIRE, request, REQUEST_KEYS),
  };
}

const IMAGE = /^image(\[\d*\])?$/;

function common(request: ImagesRequest): DrawRequest {
  const { quality, background } = request;
  return {
    model: request.model,
    prompt: request.prompt,
    count: request.n ?? 1,
    ...present("size", parseSize(request.size)),
    ...present("quality", quality === "auto" || quality === "" ? undefined : quality),
    ...present("background", background === "auto" ? undefined : background),
    ...present("format", request.output_format),
    ...present("compression", request.output_compression),
    ...present("negativePrompt", request.negative_prompt),
    ...present("seed", request.seed),
    ...present("steps", request.num_inference_steps),
    ...present("guidance", request.guidance_scale),
    ...(request.partial_images ? { partials: request.partial_images } : {}),
    ...(request.response_format === "url" && { wantsUrl: true }),
    stream: request.stream ?? false,
  };
}

function parseSize(text: string | null | undefined): PictureSize | undefined {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text ?? "") ?? [];
  return width === undefined ? undefined : { width: Number(width), height: Number(height) };
}

function parseReference({ image_url: url, file_id: id }: WireReference, param: string): GivenPicture {
  if (typeof id === "string" && typeof url !== "string") return { type: "id", id };
  if (typeof url !== "string") return refuse(param, `Invalid value at "${param}": Expected "image_url" or "file_id"`);
  const data = parseDataUrl(url);
  if (data) return parseBytes(decode(data.base64, param), param, "image");
  if (!/^https?:\/\//i.test(url)) {
    refuse(param, `Invalid value at "${param}.image_url": Expected a data URL or an address of the web`);
  }
  return { type: "url", url };
}

function decode(base64: string, param: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return refuse(param, `Invalid value at "${param}.image_url": The data URL is not valid base64`);
  }
}

function parseFile({ name, file }: FormField, place: number | "mask"): GivenPicture {
  const param = place === "mask" ? place : "image";
  if (!file) return refuse(param, `The form's field "${name}" is a text instead of a file`);
  return parseBytes(file.bytes, param, file.name);
}

/** The type comes from the bytes: SDKs send files without one. */
function parseBytes(bytes: Uint8Array<ArrayBuffer>, param: string, name: string): GivenPicture {
  if (bytes.length === 0) refuse(param, `The file "${name}" is empty`);
  const format = formatOf(bytes);
  if (!format || format === "svg") refuse(param, `The file "${name}" is not a PNG, JPEG, WebP or GIF picture`);
  return { type: "bytes", bytes, mediaType: `image/${format}`, name };
}

/** The text fields by name. A field that repeats, or whose name ends in brackets, is a list. Empty texts mean absent. */
function collectTexts(fields: readonly FormField[]): JsonObject {
  const texts = new Map<string, string[]>();
  for (const { name, value, file } of fields) {
    if (file) refuse(name, `The form has a file in its field "${name}"`);
    if (value !== undefined && value !== "") texts.set(name, [...texts.get(name) ?? [], value]);
  }
  return Object.fromEntries(
    [...texts].map(([name, values]) => [name, values.length > 1 ? values : typed(name, values[0]!)]),
  );
}

/** Values that are no numbers or switches stay texts, which the schema refuses. */
function typed(name: string, value: string): string | number | boolean {
  if (FORM_NUMBERS.has(name)) return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  if (name !== "stream") return value;
  return /^(true|1)$/i.test(value) ? true : /^(false|0)$/i.test(value) ? false : value;
}

function refuse(param: string, message: string): never {
  throw new GatewayError("invalid_request", message, { param });
}
