/** Chooses a model for a client that the gateway can call. */
import { ConnectError, type Explained, explainModel, type GatewayAddress, type ListedModel } from "./gateway.ts";

/** The most models that are tried for a proposal, and how many at once. */
const [MOST_TRIED, AT_ONCE] = [50, 8];

interface Wanted {
  model?: string;
  /** Whether the change is kept even if the test fails. Then the model need not be usable yet. */
  keep: boolean;
}

interface Asking {
  ask(question: string): string | undefined;
  /** Lets the user choose one name of a list. Absent without a terminal. */
  chooseModel?(names: readonly string[]): Promise<string | undefined>;
}

/** The named model, or else the one that the user chooses. Throws `ConnectError` if the gateway cannot call it. */
export async function chooseModel(
  models: readonly ListedModel[],
  { model: name, keep }: Wanted,
  gateway: GatewayAddress,
  asking: Asking,
): Promise<ListedModel> {
  if (name !== undefined) return await usable(name, keep, models, gateway);
  const proposed = await proposals(models, gateway);
  const [first] = proposed as [ListedModel];
  const names = proposed.map(({ id }) => id);
  const question = `Which model? One of ${names.join(", ")}. Default: ${first.id}. Yours:`;
  const answer = asking.chooseModel ? await asking.chooseModel(names) : asking.ask(question)?.trim();
  if (asking.chooseModel && answer === undefined) {
    throw new ConnectError("No model was chosen, and nothing was changed");
  }
  return answer ? await usable(answer, keep, models, gateway) : first;
}

async function usable(name: string, keep: boolean, models: readonly ListedModel[], gateway: GatewayAddress) {
  const { obstacle } = await explainModel(name, gateway);
  if (obstacle !== undefined && !keep) throw new ConnectError(`Cannot use the model "${name}": ${obstacle}`);
  const find = (name: string) => models.find(({ id }) => id === name);
  // A lane serves more than it lists: names with a policy, and patterns.
  return find(name) ?? find(name.replace(/:[\w-]+$/, "")) ?? { id: name, takesImages: false };
}

/** The models that can be called, one at least. Those that are built into the gateway come last. */
async function proposals(models: readonly ListedModel[], gateway: GatewayAddress): Promise<ListedModel[]> {
  const tried = models.slice(0, MOST_TRIED);
  const explained = new Map<ListedModel, Explained>();
  const waiting = [...tried];
  const work = async () => {
    for (let model = waiting.shift(); model; model = waiting.shift()) {
      explained.set(model, await explainModel(model.id, gateway));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const callable = tried.filter((model) => explained.get(model)!.obstacle === undefined);
  const rank = (model: ListedModel) => Number(explained.get(model)!.isEmbedded);
  if (callable.length > 0) return callable.sort((one, other) => rank(one) - rank(other));
  const { lane } = gateway;
  const [first] = tried;
  if (!first) throw new ConnectError(`The lane "${lane}" lists no chat model: name one with --model`);
  throw new ConnectError(`No model of the lane "${lane}" can be called: ${explained.get(first)!.obstacle}`);
}
