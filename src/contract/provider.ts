import type { Preset, PresetDriver } from "../util/config_text.ts";

/** A known service, which an upstream's configuration can name instead of its settings. */
export interface Provider extends Preset {
  /** The service's name for people. */
  title: string;
  /** The page that states these facts. */
  source: string;
  /** The page on which its users create a key. Absent if it needs none. */
  keysAt?: string;
  /** A model that it had when this was written, for examples. */
  model: string;
  drivers: Readonly<Record<string, ProviderDriver>>;
  /** Whether it lists its models. By default it does. */
  listsModels?: boolean;
  /** Whether the list of models needs no key, so that it says nothing about the key. */
  hasPublicList?: boolean;
  /** A path below the base URL that answers only to a valid key, without running a model. */
  keyCheck?: string;
  /** How the file of a secret that ends is renewed: a command that prints a new one, and how often, for cron. */
  renewal?: { command: string; cron: string };
  /** Notes for its users, in Markdown. */
  remarks?: readonly string[];
}

export interface ProviderDriver extends PresetDriver {
  /** An example of a base URL, if each user has another one. */
  baseUrlForm?: string;
}

/** The providers by the names that configurations use. */
export type Providers = Readonly<Record<string, Provider>>;
