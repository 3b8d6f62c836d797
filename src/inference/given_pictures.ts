/** Uploaded pictures that a request names by ids: their contents take the place of the ids. */
import { type DrawRequest, formatOf, type GivenPicture, PICTURE_TYPES } from "../canonical/draw.ts";
import { bareId, type StoredFile } from "../canonical/files.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";
import { tooLarge } from "../http/size.ts";
import type { Inference } from "./inference.ts";
import { bytesOf, openFiles } from "./given_files.ts";

/** Throws `invalid_request` for an id that is not the caller's, or a file that is not a picture. */
export async function withGivenPictures({ input, context }: Inference<"draw">): Promise<DrawRequest> {
  const { caller: { owner } } = context;
  const files = await openFiles(context);
  const all = new Map((await files.list(owner)).map((file) => [file.id, file]));
  reserve(input, all, context);
  const fill = async (picture: GivenPicture, param: string): Promise<GivenPicture> => {
    if (picture.type !== "id") return picture;
    const file = all.get(bareId(picture.id));
    const refuse = (message: string) => new GatewayError("invalid_request", message, { param });
    if (!file) throw refuse(`File with id '${picture.id}' not found`);
    const bytes = new Uint8Array(await bytesOf(files, owner, file.id));
    const format = formatOf(bytes);
    if (!format || format === "svg") throw refuse(`The file '${picture.id}' is not a PNG, JPEG, WebP or GIF picture`);
    return { type: "bytes", bytes, mediaType: PICTURE_TYPES[format], name: file.name };
  };
  const images: GivenPicture[] = [];
  for (const [index, picture] of (input.images ?? []).entries()) images.push(await fill(picture, `images[${index}]`));
  return { ...input, images, ...(input.mask && { mask: await fill(input.mask, "mask") }) };
}

/** The contents need as much room as if the client had sent them, and no more may come than it could send. */
function reserve(
  { images = [], mask }: DrawRequest,
  all: ReadonlyMap<string, StoredFile>,
  { gateway: { guards }, caller: { owner }, requestLog }: RequestContext,
): void {
  const given = mask ? [...images, mask] : images;
  const bytes = given.reduce((sum, one) => sum + (one.type === "id" ? all.get(bareId(one.id))?.bytes ?? 0 : 0), 0);
  if (bytes > guards.limits.bodyBytes) throw tooLarge("request with its files", guards.limits.bodyBytes);
  requestLog.atEnd(guards.uploads.reserve(bytes, owner));
}
