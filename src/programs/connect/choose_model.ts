/** Which model a client is to use: one that the gateway can call. */
import { ConnectError, explainModel, type GatewayAddress, type ListedModel } from "./gateway.ts";

/** The most models that are tried for a proposal. */
const MOST_TRIED = 50;

interface Wanted {
  model?: string;
  /** Whether the change is kept where the test fails: then the model need not be usable yet. */
  keep: boolean;
}

/** The named model, else the one that the user chooses. Throws `ConnectError` where the gateway cannot call it. */
export async function chooseModel(
  models: readonly ListedModel[],
  { model: name, keep }: Wanted,
  gateway: GatewayAddress,
  { ask }: { ask(question: string): string | undefined },
): Promise<ListedModel> {
  if (name !== undefined) return await usable(name, keep, models, gateway);
  const proposed = await propose(models, gateway);
  const names = models.map(({ id }) => id).join(", ");
  const answer = ask(`Which model? One of ${names}. Default: ${proposed.id}. Yours:`)?.trim();
  return answer ? await usable(answer, keep, models, gateway) : proposed;
}

async function usable(name: string, keep: boolean, models: readonly ListedModel[], gateway: GatewayAddress) {
  const { obstacle } = await explainModel(name, gateway);
  if (obstacle !== undefined && !keep) throw new ConnectError(`Cannot use the model "${name}": ${obstacle}`);
  const find = (name: string) => models.find(({ id }) => id === name);
  // A lane serves more than it lists: names with a policy, and patterns.
  return find(name) ?? find(name.replace(/:[\w-]+$/, "")) ?? { id: name, takesImages: false };
}

/** The first model that can be called. One that is built into the gateway comes last. */
async function propose(models: readonly ListedModel[], gateway: GatewayAddress): Promise<ListedModel> {
  let embedded: ListedModel | undefined;
  let reason: string | undefined;
  for (const model of models.slice(0, MOST_TRIED)) {
    const { obstacle, isEmbedded } = await explainModel(model.id, gateway);
    if (obstacle !== undefined) reason ??= obstacle;
    else if (isEmbedded) embedded ??= model;
    else return model;
  }
  if (embedded) return embedded;
  const { lane } = gateway;
  if (reason === undefined) throw new ConnectError(`The lane "${lane}" lists no chat model: name one with --model`);
  throw new ConnectError(`No model of the lane "${lane}" can be called: ${reason}`);
}
