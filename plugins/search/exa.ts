import type { SearchBackend } from "../../src/contract/search.ts";
import { pagesIn } from "./pages.ts";

export const exa: SearchBackend = {
  name: "exa",
  baseUrl: "https://api.exa.ai",
  secret: { header: "x-api-key" },
  filters: ["allowed", "blocked"],
  request: ({ query, count, domains }) => ({
    path: "search",
    body: {
      query,
      numResults: Math.min(count, 25),
      type: "auto",
      contents: { highlights: true, text: { maxCharacters: 2_000 } },
      ...(domains?.allowed && { includeDomains: [...domains.allowed] }),
      ...(domains?.blocked && { excludeDomains: [...domains.blocked] }),
    },
  }),
  parse: (reply) =>
    pagesIn(reply, {
      list: ["results"],
      url: "url",
      title: "title",
      texts: ["highlights", "text"],
      age: "publishedDate",
    }),
};
