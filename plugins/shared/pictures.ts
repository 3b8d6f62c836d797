/** Parts that drivers of pictures share. */
import type { DrawRequest, GivenPicture } from "../../src/canonical/draw.ts";
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";

/** The settings of a request that not every server has, by their names on the client's wire. */
const SETTINGS = {
  quality: "quality",
  background: "background",
  format: "output_format",
  compression: "output_compression",
  negativePrompt: "negative_prompt",
  seed: "seed",
  steps: "num_inference_steps",
  guidance: "guidance_scale",
} as const;
export type PictureSetting = keyof typeof SETTINGS;

/** Notes the settings that a server does not have. `has`: those that it has. */
export function noteSettings(
  input: DrawRequest,
  has: readonly PictureSetting[],
  note: (text: string) => void,
): void {
  for (const [name, said] of Object.entries(SETTINGS)) {
    const setting = name as PictureSetting;
    if (input[setting] !== undefined && !has.includes(setting)) note(`dropped ${said}`);
  }
  if (input.stream && input.partials) note("dropped partial_images");
}

/** The address of a given picture: its own, or its contents as a data URL. */
export function addressOf(picture: GivenPicture): string {
  if (picture.type === "url") return picture.url;
  return `data:${contentsOf(picture).mediaType};base64,${contentsOf(picture).bytes.toBase64()}`;
}

/** The contents of a given picture. Throws `invalid_request` if only its address is known. */
export function contentsOf(picture: GivenPicture): Extract<GivenPicture, { type: "bytes" }> {
  if (picture.type === "bytes") return picture;
  const message =
    "This model's upstream takes no addresses of pictures: send the picture itself, as a data URL or a file";
  throw new GatewayError("invalid_request", message, { param: "image", tryNextTarget: true });
}

/** Refuses what a server cannot do with given pictures. `most`: how many it takes. */
export function refuseGiven(
  { images = [], mask }: DrawRequest,
  where: string,
  { most, hasMask = false }: { most: number; hasMask?: boolean },
): void {
  const refuse = (param: string, what: string) => {
    throw new GatewayError("unsupported", `${where} ${what}`, { param, tryNextTarget: true });
  };
  if (images.length > most) {
    refuse("image", most === 0 ? "does not change pictures" : `takes one picture, not ${images.length}`);
  }
  if (mask && !hasMask) refuse("mask", "takes no mask");
}

/** Refuses a request for which the model was not made. */
export function refuseOtherTask({ images }: DrawRequest, { draws, model }: Pick<Target, "draws" | "model">): void {
  if (draws === undefined || (draws === "changed") === (images !== undefined)) return;
  const message = images
    ? `Model "${model}" draws new pictures and does not change given ones`
    : `Model "${model}" changes given pictures and draws no new ones`;
  throw new GatewayError("model_task_mismatch", message, { param: "model", tryNextTarget: true });
}
