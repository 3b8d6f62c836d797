/** The models that the operator may ask for, lane by lane. */
import type { RequestContext } from "../../context/request_context.ts";
import { flushEventLoop, runExclusively } from "../../util/sliced_work.ts";
import { mayAsk } from "../../inference/resolve.ts";

export async function models({ gateway: { lanes }, caller, hide, note, signal }: RequestContext): Promise<Response> {
  const open = [...lanes.values()].filter(({ name }) => caller.lanes?.includes(name) ?? true);
  // Outside the turn: a catalog that is slow to answer keeps nobody else waiting.
  const lists = await Promise.all(open.map(async (lane) => ({ name: lane.name, models: await lane.list(note) })));
  const write = () => {
    signal.throwIfAborted();
    const data = lists.flatMap(({ name, models }) =>
      models.filter(({ id }) => mayAsk(id, caller)).map(({ id, task }) => ({ lane: name, id: hide(id), task }))
    );
    return Response.json({ data });
  };
  return await runExclusively(caller.owner, () => flushEventLoop().then(write));
}
