/** How pictures are requested from each of the hub's providers. Shapes: the hub's own clients. */
import { type DrawRequest, sizeText } from "../../src/canonical/draw.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import { asObject, asText, isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import {
  addressOf,
  contentsOf,
  noteSettings,
  type PictureSetting,
  refuseGiven,
  refuseOtherTask,
} from "../shared/pictures.ts";
import { entriesIn, isAddress } from "./found_pictures.ts";
import { FILE, jsonWithFile } from "./json_with_file.ts";
import { encodeSegment, pathOf } from "./paths.ts";
import { cancelPrediction, isPrediction, pollPrediction, predict } from "./replicate.ts";

interface Way {
  request(input: DrawRequest, target: Target, context: Context): Call[];
  /** The call that polls a job. Absent if it is done. Throws if it failed. */
  poll?(body: JsonObject, step: number): Call | undefined;
  cancel?(body: Reply["body"]): Call | undefined;
}

export type PictureProvider = "hub" | "fal" | "replicate" | "together" | "wavespeed" | "zai";

/** One call for each picture. A given seed counts up, so that the pictures differ. */
function callsFor(input: DrawRequest, call: (seed: number | undefined) => Call): Call[] {
  return Array.from(
    { length: input.count },
    (_, index) => call(input.seed === undefined ? undefined : input.seed + index),
  );
}

function note(input: DrawRequest, wire: string, has: readonly PictureSetting[], context: Context): void {
  noteSettings(input, has, context.note);
  fieldsFor(wire, input.extra, context.note);
}

const PARAMETERS: readonly PictureSetting[] = ["negativePrompt", "seed", "steps", "guidance"];

/** The parameters of open models, by the names that most providers have. */
function parametersOf({ negativePrompt, steps, guidance }: DrawRequest, seed: number | undefined): JsonObject {
  return defined({ num_inference_steps: steps, guidance_scale: guidance, negative_prompt: negativePrompt, seed });
}

function defined(fields: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;
}

const engine: Way = {
  request(input, { model }, context) {
    refuseGiven(input, "hf-inference", { most: 1 });
    note(input, "hub", PARAMETERS, context);
    const { images: [given] = [], prompt, size, count } = input;
    const path = `models/${pathOf(model)}`;
    // The engine keeps its answers, and several pictures would be the same one.
    const headers = { accept: "*/*", ...(count > 1 && { "x-use-cache": "0" }) };
    const contents = given && contentsOf(given).bytes;
    return callsFor(input, (seed) => {
      const parameters = { ...(contents && { prompt }), ...size, ...parametersOf(input, seed) };
      if (contents) return { path, headers, body: jsonWithFile({ inputs: FILE, parameters }, contents) };
      return {
        path,
        headers,
        body: Object.keys(parameters).length > 0 ? { inputs: prompt, parameters } : { inputs: prompt },
      };
    });
  },
};

const fal: Way = {
  request(input, { model }, context) {
    note(input, "fal", [...PARAMETERS, "format"], context);
    const { images, mask, prompt, size, format } = input;
    const urls = images?.map(addressOf);
    return callsFor(input, (seed) => ({
      path: `${pathOf(model)}?${QUEUE}`,
      body: defined({
        // Some apps read one name and some the other. All of them ignore unknown fields.
        image_url: urls?.[0],
        image_urls: urls,
        mask_url: mask && addressOf(mask),
        prompt,
        image_size: size && { ...size },
        output_format: format,
        ...parametersOf(input, seed),
      }),
    }));
  },
  poll(body, step) {
    const { status, response_url } = body;
    if (typeof status !== "string" || typeof response_url !== "string") return undefined;
    const path = pathIn(response_url);
    switch (status) {
      case "IN_QUEUE":
      case "IN_PROGRESS":
        return { path: `${path}/status?${QUEUE}`, afterMs: waitMs(step) };
      case "COMPLETED":
        if (body.error) throw upstreamStreamError(body);
        return { path: `${path}?${QUEUE}` };
      default:
        throw ended(status);
    }
  },
  cancel(body) {
    if (!isJsonObject(body) || typeof body.response_url !== "string" || body.status === "COMPLETED") return undefined;
    return { path: `${pathIn(body.response_url)}/cancel?${QUEUE}`, method: "PUT" };
  },
};

/** The router passes it on to the host of fal's queue. */
const QUEUE = "_subdomain=queue";

/** The path of a job's address, below the provider's base URL. Its host is not used, because the token must not go there. */
function pathIn(address: string): string {
  const { pathname = "" } = URL.parse(address) ?? {};
  const segments = pathname.split("/").filter((segment) => segment !== "");
  if (segments.length === 0 || segments.some((segment) => !/^[\w.~@-]+$/.test(segment) || /^\.+$/.test(segment))) {
    throw new GatewayError("upstream_error", "The upstream's job has no address");
  }
  return segments.join("/");
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;

function waitMs(step: number): number {
  return Math.min(FIRST_WAIT_MS * 1.5 ** step, LONGEST_WAIT_MS);
}

function ended(status: string): GatewayError {
  return new GatewayError("upstream_error", `The upstream's job ended with status "${status}"`);
}

const replicate: Way = {
  request(input, { model }, context) {
    note(input, "replicate", [...PARAMETERS, "format"], context);
    const { images, mask, prompt, size, format } = input;
    const urls = images?.map(addressOf);
    const [call, version] = predict(model);
    return callsFor(input, (seed) => ({
      ...call,
      body: defined({
        input: defined({
          prompt,
          // The models have different names for this field, and ignore the others.
          image: urls?.[0],
          images: urls,
          input_image: urls?.[0],
          input_images: urls,
          mask: mask && addressOf(mask),
          ...size,
          output_format: format === "jpeg" ? "jpg" : format,
          ...parametersOf(input, seed),
        }),
        version,
      }),
    }));
  },
  poll: (body, step) => isPrediction(body) ? pollPrediction(body, step) : undefined,
  cancel: cancelPrediction,
};

const together: Way = {
  request(input, { model }, context) {
    refuseGiven(input, "together", { most: 16 });
    note(input, "together", PARAMETERS, context);
    const { images, prompt, size, count, wantsUrl, negativePrompt, seed, steps, guidance } = input;
    const urls = images?.map(addressOf);
    const given = urls && (/kontext/i.test(model) ? { image_url: urls[0] } : { reference_images: urls });
    const fields = {
      model,
      prompt,
      ...given,
      n: count > 1 ? count : undefined,
      ...size,
      steps,
      guidance_scale: guidance,
      negative_prompt: negativePrompt,
      seed,
      response_format: wantsUrl ? "url" : "base64",
    };
    return [{ path: "images/generations", body: defined(fields) }];
  },
};

const wavespeed: Way = {
  request(input, { model }, context) {
    refuseGiven(input, "wavespeed", { most: 16 });
    note(input, "wavespeed", PARAMETERS, context);
    const { images, prompt, size } = input;
    const urls = images?.map(addressOf);
    return callsFor(input, (seed) => ({
      path: `api/v3/${pathOf(model)}`,
      body: defined({
        image: urls?.[0],
        images: urls,
        prompt,
        size: size && `${size.width}*${size.height}`,
        ...parametersOf(input, seed),
      }),
    }));
  },
  poll(body, step) {
    const { urls, status, error } = asObject(body.data);
    switch (status) {
      case "created":
      case "processing":
        return { path: pathIn(asText(asObject(urls).get)), afterMs: waitMs(step) };
      case "failed":
        throw error ? upstreamStreamError({ error }) : ended(status);
      default:
        return undefined;
    }
  },
};

/** How often its own clients poll. */
const ZAI_WAIT_MS = 5_000;

const zai: Way = {
  request(input, { model }, context) {
    refuseGiven(input, "zai-org", { most: 0 });
    note(input, "zai", [], context);
    const { prompt, size } = input;
    const body = defined({ model, prompt, size: size && sizeText(size) });
    return Array.from({ length: input.count }, () => ({ path: "api/paas/v4/async/images/generations", body }));
  },
  poll(body) {
    const { task_status, id } = body;
    switch (task_status) {
      case "PROCESSING":
        if (typeof id !== "string") throw new GatewayError("upstream_error", "The upstream's job has no id");
        return { path: `api/paas/v4/async-result/${encodeSegment(id)}`, afterMs: ZAI_WAIT_MS };
      case "FAIL":
        throw body.error || body.message ? upstreamStreamError(body) : ended(task_status);
      default:
        return undefined;
    }
  },
};

export const WAYS: Readonly<Record<PictureProvider, Way>> = { hub: engine, fal, replicate, together, wavespeed, zai };

/** Throws `model_task_mismatch` if the model only draws new pictures, or only changes given ones. */
export function request(provider: PictureProvider, input: DrawRequest, target: Target, context: Context): Call[] {
  refuseOtherTask(input, target);
  return WAYS[provider].request(input, target, context);
}

/** The call that follows a reply: it polls a job, or fetches the picture. */
export function nextCall(
  provider: PictureProvider,
  body: Reply["body"],
  { wantsUrl }: DrawRequest,
  step: number,
): Call | undefined {
  if (!isJsonObject(body) || body instanceof Uint8Array) return undefined;
  const call = WAYS[provider].poll?.(body, step);
  if (call || wantsUrl) return call;
  const found = entriesIn(body);
  const [only] = found;
  return found.length === 1 && only && isAddress(only) ? { url: only } : undefined;
}

export { parsePictures } from "./found_pictures.ts";
