import { withoutSecretsIn } from "./carried.ts";
import { type Incoming, openExchange } from "./incoming.ts";
import { mayAsk } from "./resolve.ts";

/** The lane's models, as far as the caller may ask for them. */
export async function listModels(incoming: Incoming<"listModels">): Promise<Response> {
  const { protocol, input, lane, context: { caller, hide, note } } = incoming;
  const models = (await lane.list(note)).filter(({ id, task }) =>
    (!input.task || task === input.task) && mayAsk(id, caller)
  );
  return protocol.serialize(withoutSecretsIn(models, hide), openExchange(incoming, input));
}
