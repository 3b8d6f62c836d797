/** SearXNG, a self-hosted search engine. Its settings must name `json` among the formats, or it answers 403. */
import { isJsonObject } from "../../src/canonical/json.ts";
import type { SearchBackend } from "../../src/contract/search.ts";
import { GatewayError } from "../../src/errors.ts";
import { pagesIn, withQuery, withSites } from "./pages.ts";

export const searxng: SearchBackend = {
  name: "searxng",
  request: ({ query, domains }) => ({ path: withQuery("search", { q: withSites(query, domains), format: "json" }) }),
  parse(reply) {
    const pages = pagesIn(reply, {
      list: ["results"],
      url: "url",
      title: "title",
      texts: ["content"],
      age: "publishedDate",
    });
    const silent = isJsonObject(reply.body) ? reply.body.unresponsive_engines : undefined;
    // If its engines ask for a captcha, the list is empty, as if nothing had been found.
    if (pages.length === 0 && Array.isArray(silent) && silent.length > 0) {
      throw new GatewayError("upstream_error", "None of the search's engines answers");
    }
    return pages;
  },
};
