/** Services that search the web for models whose servers do not. */
import type { SearchBackend } from "../../src/contract/search.ts";
import { pagesIn, withQuery, withSites } from "./pages.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";

const searxng: SearchBackend = {
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

const brave: SearchBackend = {
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

const tavily: SearchBackend = {
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

const exa: SearchBackend = {
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

const serper: SearchBackend = {
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

export const searchBackends: readonly SearchBackend[] = [searxng, brave, tavily, exa, serper];
