/** The files that keys have uploaded: their sums, and the deletion of one by an operator. */
import { z } from "zod";
import type { JsonObject } from "../../canonical/json.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import type { Files } from "../../state/files.ts";

/** How many owners are listed. The others have fewer bytes. */
const MOST_OWNERS = 200;

/** Sums the files of each owner; with `?owner=`, lists its files. Names are shown, contents never. */
export async function listFiles({ gateway, url }: RequestContext): Promise<Response> {
  if (!gateway.state.files) return Response.json({ isOff: true, owners: [] });
  const files = await filesOf(gateway);
  const owner = url?.searchParams.get("owner");
  if (owner) {
    const list = await files.list(owner);
    return Response.json({
      files: list.map(({ created, expires, ...facts }) => ({
        ...facts,
        created: new Date(created).toISOString(),
        ...(expires !== undefined && { expires: new Date(expires).toISOString() }),
      })),
    });
  }
  const holdings = await files.holdings();
  const { bytesPerKey, filesPerKey, totalBytes } = files.bounds;
  return Response.json({
    owners: holdings.slice(0, MOST_OWNERS),
    more: Math.max(0, holdings.length - MOST_OWNERS),
    bytes: holdings.reduce((sum, { bytes }) => sum + bytes, 0),
    bounds: { bytesPerKey, filesPerKey, totalBytes },
  });
}

const deletion = z.strictObject({ owner: z.string(), id: z.string() });

/** Deletes a file of any owner. */
export async function deleteFile({ gateway, caller }: RequestContext, body: JsonObject): Promise<Response> {
  const { owner, id } = validate(deletion, body);
  await (await filesOf(gateway)).delete(owner, id);
  gateway.observe.audit?.write({ event: "file deleted", owner, id, by: caller.name });
  return Response.json({ owner, id });
}

async function filesOf({ state }: Gateway): Promise<Files> {
  if (!state.files) throw new GatewayError("unsupported", 'This gateway keeps no files: "files" is off');
  return await state.files();
}
