import type { SearchBackend } from "../../src/contract/search.ts";
import { pagesIn, withSites } from "./pages.ts";

export const serper: SearchBackend = {
  name: "serper",
  baseUrl: "https://google.serper.dev",
  secret: { header: "x-api-key" },
  request: ({ query, count, domains, location }) => ({
    path: "search",
    body: {
      q: withSites(query, domains),
      num: Math.min(count, 20),
      ...(location?.country && { gl: location.country.toLowerCase() }),
    },
  }),
  parse: (reply) => pagesIn(reply, { list: ["organic"], url: "link", title: "title", texts: ["snippet"], age: "date" }),
};
