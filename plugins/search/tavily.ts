import type { SearchBackend } from "../../src/contract/search.ts";
import { pagesIn } from "./pages.ts";

export const tavily: SearchBackend = {
  name: "tavily",
  baseUrl: "https://api.tavily.com",
  secret: { header: "authorization", scheme: "Bearer" },
  filters: ["allowed", "blocked"],
  request: ({ query, count, domains, size }) => ({
    path: "search",
    body: {
      query,
      max_results: Math.min(count, 20),
      search_depth: size === "high" ? "advanced" : "basic",
      ...(domains?.allowed && { include_domains: [...domains.allowed] }),
      ...(domains?.blocked && { exclude_domains: [...domains.blocked] }),
    },
  }),
  parse: (reply) =>
    pagesIn(reply, { list: ["results"], url: "url", title: "title", texts: ["content"], age: "published_date" }),
};
