import type { ModelInfo, Task } from "../canonical/models.ts";
import type { Quirks } from "./quirks.ts";
import type { Call, Reply } from "./call.ts";

/** Where a lane's models come from. It describes its calls as drivers do. The core makes them and caches the results. */
export interface Catalog {
  name: string;
  /** The calls that return the whole list. */
  listing(): Call[];
  /** The call for the rest of an incomplete reply: the next page. */
  next?(reply: Reply): Call | undefined;
  /**
   * Reads the list from the replies. All have a 2xx status and follow the order of the calls, each with its further
   * pages after it. Unreadable entries are left out. Throws `upstream_error` if a reply holds no list.
   */
  parseListing(replies: Reply[]): ModelInfo[];
  /** The calls for the files of a model's tokenizer. `undefined` if the model cannot have any. */
  tokenizerFiles?(model: string): TokenizerCalls | undefined;
  /** Whether the list includes prices. */
  hasPrices?: true;
  /** How to find the providers of one model, for a service that routes a model to several. */
  finder?: Finder;
}

/** A model may have either of the last two, or both. */
export interface TokenizerCalls {
  vocabulary: Call;
  settings: Call;
  template: Call;
}

export interface Finder {
  /** The call that looks the model up. Names that differ only in their policy have the same call. */
  lookup(name: string): Call;
  /**
   * Reads the reply, whatever its status. `undefined` if the model does not exist. Throws if the reply does not answer
   * the question.
   */
  parse(reply: Reply): Found | undefined;
  /** The providers that serve the task, in the order in which to try them. The name's policy decides the order. */
  choose(found: Found, name: string, task: Task): ProviderTarget[];
  /** Where the model may be, if the service does not report it. */
  guess(name: string, task: Task): ProviderTarget[];
}

/** A service's information about one model. */
export interface Found {
  /** The tasks that the model is for. Empty if the service does not report them. */
  tasks: readonly Task[];
  /** The model's task in the service's terms, if it is none of ours: `text-to-video`. */
  otherTask?: string;
  /** Tasks of ours that the model may support nevertheless. */
  possibleTasks?: readonly Task[];
  targets: readonly ProviderTarget[];
}

/** One of the providers behind an upstream that run a model. */
export interface ProviderTarget extends Quirks {
  /** The provider's name. */
  provider: string;
  task: Task;
  /** The name of the driver for this provider. */
  driver: string;
  /** The prefix of the paths of its calls, below the upstream's base URL: `together/v1`. */
  path: string;
  /** The provider's own name for the model. */
  model: string;
}
