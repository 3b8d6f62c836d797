import type { Domains, Location, SearchWork } from "../canonical/hosted.ts";
import type { Call, Reply, SecretPlace } from "./call.ts";

/** A search that a service is to run. */
export interface SearchQuery {
  query: string;
  /** How many pages to return. */
  count: number;
  domains?: Domains;
  location?: Location;
  size: NonNullable<SearchWork["size"]>;
}

/** A search result. */
export interface FoundPage {
  url: string;
  title: string;
  /** The service's excerpt from the page. */
  text: string;
  /** The date of the page, as the service writes it. */
  age?: string;
}

/** A web search service. It describes its calls as drivers do. The core makes them. */
export interface SearchBackend {
  /** Unique name, by which configurations choose a service. */
  name: string;
  /** The default base URL. Absent for a service that users host themselves. */
  baseUrl?: string;
  /** Where its secret goes. Absent if the service needs none. */
  secret?: SecretPlace;
  /** Which domain lists the service applies itself. The core enforces both in any case. */
  filters?: readonly (keyof Domains)[];
  request(query: SearchQuery): Call;
  /**
   * The pages in a reply with a 2xx status, best first. Throws `upstream_error` if the reply has no list, or if it
   * shows an outage that looks like an empty list.
   */
  parse(reply: Reply): FoundPage[];
}
