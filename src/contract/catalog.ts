import type { ModelInfo, Task } from "../canonical/models.ts";
import type { Quirks } from "./quirks.ts";
import type { Call, Reply } from "./call.ts";

/** Where a lane's models come from. Describes its calls as drivers do; the core makes them and keeps what they bring. */
export interface Catalog {
  name: string;
  /** The calls that bring the whole list. */
  listing(): Call[];
  /** The call for what a reply leaves out: the next page. */
  next?(reply: Reply): Call | undefined;
  /**
   * The list in the replies, which have statuses within 2xx and the order of the calls, each followed by its further pages.
   * Entries that cannot be read are left out; throws `upstream_error` for replies that hold no list.
   */
  parseListing(replies: Reply[]): ModelInfo[];
  /** The calls for the files that tell how a model's prompts are cut into tokens; nothing where it cannot have any. */
  tokenizerFiles?(model: string): TokenizerCalls | undefined;
  /** Whether its list says what models cost. */
  hasPrices?: true;
  /** How to find one model's places; for a service whose models are at several. */
  finder?: Finder;
}

/** Of the last two, a model may have one, or the other, or both. */
export interface TokenizerCalls {
  vocabulary: Call;
  settings: Call;
  template: Call;
}

export interface Finder {
  /** What to ask about the model; the same call for names that differ in their policy only. */
  lookup(name: string): Call;
  /** What the answer says, whatever its status; nothing where there is no such model. Throws where it says nothing at all. */
  parse(reply: Reply): Found | undefined;
  /** Those of a model's places that serve the task, as the name's policy has them: the first is the one to ask first. */
  choose(found: Found, name: string, task: Task): Place[];
  /** Where the model may be, when the service does not report it. */
  guess(name: string, task: Task): Place[];
}

/** What a service knows of one model. */
export interface Found {
  /** What the model is for; empty where the service does not report it. */
  tasks: readonly Task[];
  /** What the service says that it is for, where that is none of our tasks: `text-to-image`. */
  otherTask?: string;
  /** The tasks of ours that it may have all the same. */
  possibleTasks?: readonly Task[];
  places: readonly Place[];
}

/** One of the places behind an upstream that run a model. */
export interface Place extends Quirks {
  /** Who runs it. */
  provider: string;
  task: Task;
  /** The name of the driver that speaks to it. */
  driver: string;
  /** What goes before the paths of its calls, below the upstream's base URL: `together/v1`. */
  path: string;
  /** What it calls the model. */
  model: string;
}
