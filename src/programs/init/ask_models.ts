/** Asks for models, their names and the default. */
import { asObject } from "../../canonical/json.ts";
import { isPattern } from "../../canonical/models.ts";
import type { ChosenModel } from "./answers.ts";
import type { Added } from "./ask_sources.ts";
import { type Asking, given } from "./asking.ts";
import { modelName } from "./names.ts";
import { at } from "./standing.ts";
import { factsFor } from "./work.ts";

/** The most models of a source that are chosen without being asked about. */
const FEW = 3;

/** `before`: the models that were chosen before. Throws `LeftError`. */
export async function askModels(
  asking: Asking,
  added: readonly Added[],
  before: readonly ChosenModel[] = [],
): Promise<ChosenModel[]> {
  const chosen: ChosenModel[] = [];
  for (const { source, upstream, models } of added) {
    // Names for these are in the built-in configuration.
    if (source.kind === "hub" || source.kind === "sandbox") continue;
    const known = before.filter((one) => one.upstream === upstream);
    const names = await askNames(upstream, models, known, asking);
    if (names.length === 0 && source.kind === "provider") {
      asking.dialog.say(`Clients can use no model of ${upstream} until you add one`);
    }
    for (const model of names) {
      const name = known.find((one) => one.model === model)?.name ?? modelName(model);
      chosen.push({ name: freeName(name, upstream, chosen), upstream, model });
    }
  }
  return await rename(chosen, asking);
}

async function askNames(
  upstream: string,
  models: readonly string[],
  known: readonly ChosenModel[],
  { dialog }: Asking,
): Promise<string[]> {
  if (models.length === 0) {
    const name = given(await dialog.enter(`A model of ${upstream}, as it is called there (empty for none)`));
    return name === "" ? [] : [name];
  }
  const choices = models.map((model) => ({ value: model, label: model }));
  const listed = known.map(({ model }) => model).filter((model) => models.includes(model));
  const first = listed.length === 0 && models.length <= FEW ? models : listed;
  return given(await dialog.chooseSeveral(`Which models of ${upstream}?`, choices, first));
}

function freeName(name: string, upstream: string, chosen: readonly ChosenModel[]): string {
  return chosen.some((one) => one.name === name) ? `${name}-${upstream}` : name;
}

async function rename(chosen: ChosenModel[], { dialog }: Asking): Promise<ChosenModel[]> {
  if (chosen.length === 0) return chosen;
  const names = chosen.map(({ name }) => name).join(", ");
  const areRight = given(await dialog.confirm(`Clients will call them ${names}. Keep these names?`, true));
  if (areRight) return chosen;
  const renamed: ChosenModel[] = [];
  for (const one of chosen) {
    const check = (name: string) =>
      name === "" || /\p{Cc}/u.test(name)
        ? "Expected a name"
        : renamed.some((other) => other.name === name)
        ? `There is a model "${name}" already`
        : undefined;
    const name = given(await dialog.enter(`Name of ${one.model}`, { first: one.name, check }));
    renamed.push({ ...one, name });
  }
  return renamed;
}

const NONE = "none";

/** The model that answers for every other name. Absent if there should be none. Throws `LeftError`. */
export async function askDefault(
  { dialog, place }: Asking,
  added: readonly Added[],
  models: readonly ChosenModel[],
): Promise<string | undefined> {
  const names = [...new Set([...models.map(({ name }) => name), ...builtInNames(added, factsFor(place).builtIn)])];
  if (names.length === 0) return undefined;
  const choices = [
    ...names.map((name) => ({ value: name, label: name })),
    { value: NONE, label: "None", hint: "such names are refused" },
  ];
  const answer = await dialog.choose("Which model answers when a client asks for an unknown name?", choices, names[0]);
  return given(answer) === NONE ? undefined : answer;
}

/** The names of the built-in lane for chat models of sources that have some there. */
function builtInNames(added: readonly Added[], builtIn: unknown): string[] {
  const upstreams = added.map(({ upstream }) => upstream);
  return Object.entries(asObject(at(builtIn, "lanes", "oss", "models"))).flatMap(([name, alias]) => {
    const [target] = (at(alias, "targets") ?? []) as { upstream: string }[];
    return at(alias, "task") === "chat" && !isPattern(name) && upstreams.includes(target!.upstream) ? [name] : [];
  });
}
