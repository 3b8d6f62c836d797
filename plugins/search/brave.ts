import type { SearchBackend } from "../../src/contract/search.ts";
import { pagesIn, withQuery, withSites } from "./pages.ts";

export const brave: SearchBackend = {
  name: "brave",
  baseUrl: "https://api.search.brave.com/res/v1",
  secret: { header: "x-subscription-token" },
  request: ({ query, count, domains, location }) => ({
    path: withQuery("web/search", {
      q: withSites(query, domains),
      count: Math.min(count, 20),
      country: location?.country,
      extra_snippets: "true",
    }),
  }),
  parse: (reply) =>
    pagesIn(reply, {
      list: ["web", "results"],
      url: "url",
      title: "title",
      texts: ["description", "extra_snippets"],
      age: "age",
    }),
};
