import {
  delivered,
  type DrawRequest,
  type DrawResponse,
  formatOf,
  pictureIn,
  type PictureSize,
  sizeOf,
} from "../../src/canonical/draw.ts";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { contentsOf, noteSettings } from "../shared/pictures.ts";
import { hashOf } from "./hash.ts";
import { writePng } from "./png.ts";

const USUAL: PictureSize = { width: 1_024, height: 1_024 };
/** A request must not keep the gateway busy. */
const LONGEST_SIDE = 2_048;

/**
 * Draws a symmetric pattern in the colours of the prompt. A changed picture has the size of the given one, and the pattern of both. The
 * same request always gets the same pictures.
 */
export function draw(
  request: DrawRequest,
  _target: Pick<Target, "model">,
  context: Pick<Context, "note">,
): DrawResponse {
  const { prompt, images, mask, count, background, seed = 0, extra } = request;
  noteSettings(request, ["background", "seed", "format"], context.note);
  fieldsFor("sandbox", extra, context.note);
  const given = [...images ?? [], ...mask ? [mask] : []].map((picture) => contentsOf(picture).bytes);
  const size = request.size ?? (given[0] && sizeOfGiven(given[0])) ?? USUAL;
  if (Math.max(size.width, size.height) > LONGEST_SIDE) {
    const message = `The sandbox draws pictures of at most ${LONGEST_SIDE} x ${LONGEST_SIDE} pixels`;
    throw new GatewayError("invalid_request", message, { param: "size" });
  }
  const subject = [prompt, ...given.map((bytes) => hashOf(new TextDecoder("latin1").decode(bytes)))].join("\n");
  const pictures = Array.from({ length: count }, (_, index) => {
    const hashes = (name: string) => hashOf(`${name}\n${seed + index}\n${subject}`);
    return pictureIn(writePng(size, cellsBy(hashes), coloursBy(hashes), background === "transparent"));
  });
  // Not marked as estimated, because this is the sandbox's own count.
  const usage = { inputTokens: Math.max(1, estimateTextTokens(prompt)), outputTokens: 0, pictures: count };
  return { pictures: delivered(pictures, request, context.note), usage, ...(background && { background }) };
}

function sizeOfGiven(bytes: Uint8Array<ArrayBuffer>): PictureSize | undefined {
  const format = formatOf(bytes);
  const size = format && sizeOf(bytes, format);
  return size && Math.min(size.width, size.height) > 0 && Math.max(size.width, size.height) <= LONGEST_SIDE
    ? size
    : undefined;
}

/** Cells in each direction. The right half mirrors the left one. */
export const CELLS = 8;

/** The number of a colour for each cell, row by row. */
function cellsBy(hashes: (name: string) => number): number[][] {
  return Array.from({ length: CELLS }, (_, row) => {
    const hash = hashes(`row ${row}`);
    const half = Array.from({ length: CELLS / 2 }, (_, column) => (hash >>> (column * 2)) & 3);
    return [...half, ...half.toReversed()];
  });
}

/** Four colours as red, green and blue: a background, and three of one family. */
function coloursBy(hashes: (name: string) => number): number[][] {
  const first = hashes("colours");
  const [red, green, blue] = [first & 255, (first >>> 8) & 255, (first >>> 16) & 255] as const;
  return [[245, 245, 240], [red, green, blue], [green, blue, red], [red >> 1, green >> 1, blue >> 1]];
}
