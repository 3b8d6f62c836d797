/** The notation that a text is read in: that of a family, or those of all. */
import type { CallForm } from "./calls.ts";
import type { TextFamily } from "./families.ts";
import { TEXT_FAMILIES } from "./families.ts";
import { Marks } from "./source.ts";

/** The marks that begin a message with a channel: its header follows. */
export const CHANNELS = ["<|channel|>", "<|start|>assistant"];
export const CHANNEL_ENDS = ["<|end|>", "<|return|>"];

export interface Grammar {
  /** The marks that open thoughts, each with those that close them; the same for texts. */
  thoughts: ReadonlyMap<string, readonly string[]>;
  texts: ReadonlyMap<string, readonly string[]>;
  calls: readonly CallForm[];
  channels: readonly string[];
  /** The marks that are dropped where no text stands before them. */
  leftovers: readonly string[];
  isBare: boolean;
  /** All marks that mean something anywhere. */
  marks: Marks;
}

function grammarOf(families: readonly TextFamily[], more: readonly string[] = []): Grammar {
  const pairs = (pick: (family: TextFamily) => Readonly<Record<string, string>> | undefined) =>
    new Map(families.flatMap((family) => Object.entries(pick(family) ?? {})).map(([open, close]) => [open, [close]]));
  const thoughts = pairs(({ thoughts }) => thoughts);
  const texts = pairs(({ texts }) => texts);
  const calls = new Map(families.flatMap(({ calls = [] }) => calls).map((form) => [form.open, form]));
  const channels = families.some(({ channels }) => channels) ? CHANNELS : [];
  const closes = [...thoughts.values(), ...texts.values()].flat();
  const leftovers = [...new Set([...families.flatMap(({ leftovers = [] }) => leftovers), ...closes, ...more])];
  const ends = channels.length > 0 ? CHANNEL_ENDS : [];
  return {
    thoughts,
    texts,
    calls: [...calls.values()],
    channels,
    leftovers,
    isBare: families.some(({ isBare }) => isBare),
    marks: new Marks([
      ...new Set([...thoughts.keys(), ...texts.keys(), ...calls.keys(), ...channels, ...ends, ...leftovers]),
    ]),
  };
}

let all: Grammar | undefined;

/** The notations of all families. */
export function fullGrammar(): Grammar {
  return all ??= grammarOf(TEXT_FAMILIES);
}

const ofFamily = new Map<TextFamily, Grammar>();

/** The notation of a model's family. `undefined` if that is not known. */
export function grammarFor(model: string): Grammar | undefined {
  const family = TEXT_FAMILIES.find(({ models }) => models.test(model));
  if (!family) return undefined;
  const known = ofFamily.get(family) ?? grammarOf([family]);
  ofFamily.set(family, known);
  return known;
}
