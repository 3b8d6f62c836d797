import type { Domains, Location, SearchWork } from "../canonical/hosted.ts";
import type { Call, Reply } from "./call.ts";

/** What to search for. */
export interface SearchQuery {
  query: string;
  /** How many pages are wanted. */
  count: number;
  domains?: Domains;
  location?: Location;
  size: NonNullable<SearchWork["size"]>;
}

/** A page that was found. */
export interface FoundPage {
  url: string;
  title: string;
  /** What the service quotes from the page. */
  text: string;
  /** When the page is from, in the service's own words. */
  age?: string;
}

/** A service that searches the web. Describes its calls as drivers do; the core makes them. */
export interface SearchBackend {
  /** No other one has it: configurations choose a service by its name. */
  name: string;
  /** Where it is, unless the configuration says otherwise; absent for one that everybody runs for themselves. */
  baseUrl?: string;
  /** The header that carries the secret, and what stands before it there; absent where it takes none. */
  secret?: { header: string; scheme?: string };
  /** Which lists of domains it holds itself to. The core enforces both in any case. */
  filters?: readonly (keyof Domains)[];
  request(query: SearchQuery): Call;
  /**
   * The pages in a reply of a status within 2xx, best first. Throws `upstream_error` for one that holds no list, and for an
   * outage that looks like an empty one.
   */
  parse(reply: Reply): FoundPage[];
}
