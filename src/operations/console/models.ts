/** The models that the operator may ask for, lane by lane. */
import type { RequestContext } from "../../context/request_context.ts";
import { mayAsk } from "../resolve.ts";

export async function models({ gateway: { lanes }, caller, hide, note }: RequestContext): Promise<Response> {
  const open = [...lanes.values()].filter(({ name }) => caller.lanes?.includes(name) ?? true);
  const lists = open.map(async (lane) =>
    (await lane.list(note)).filter(({ id }) => mayAsk(id, caller))
      .map(({ id, task }) => ({ lane: lane.name, id: hide(id), task }))
  );
  return Response.json({ data: (await Promise.all(lists)).flat() });
}
