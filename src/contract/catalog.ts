import type { ModelInfo } from "../canonical/models.ts";
import type { Call, Reply } from "./driver.ts";

/** Where a lane's models come from. Describes its calls as drivers do; the core makes them and keeps what they bring. */
export interface Catalog {
  name: string;
  /** The calls that bring the whole list. */
  listing(): Call[];
  /**
   * The list in the replies, which have the order of the calls and statuses within 2xx. Entries that cannot be read are
   * left out; throws `upstream_error` for replies that hold no list.
   */
  parseListing(replies: Reply[]): ModelInfo[];
}
