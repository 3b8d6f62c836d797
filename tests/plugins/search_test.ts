/** The services that search the web: what they are asked, and what is read from answers of their documented shapes. */
import { assertEquals, assertThrows } from "@std/assert";
import { searchBackends } from "../../plugins/search/mod.ts";
import type { JsonValue } from "../../src/canonical/json.ts";
import type { SearchQuery } from "../../src/contract/search.ts";
import { GatewayError } from "../../src/errors.ts";

const QUERY: SearchQuery = {
  query: "weather",
  count: 8,
  size: "medium",
  domains: { allowed: ["yr.no/en", "met.no"] },
  location: { country: "NO" },
};

function backendOf(name: string) {
  const backend = searchBackends.find((one) => one.name === name);
  if (!backend) throw new Error(`There is no backend "${name}"`);
  return {
    ask: (more: Partial<SearchQuery> = {}) => backend.request({ ...QUERY, ...more }),
    read: (body: JsonValue) => backend.parse({ status: 200, headers: new Headers(), body }),
  };
}

const FOUND = { url: "https://yr.no/", title: "Yr", text: "Rain & wind" };

/** Answers as each service's documents have them. */
const ANSWERS: [name: string, body: JsonValue, age?: string][] = [
  ["searxng", {
    query: "weather",
    results: [{ url: FOUND.url, title: "Yr", content: "Rain &amp; wind", engine: "x", score: 1 }],
    unresponsive_engines: [],
  }],
  ["brave", {
    type: "search",
    web: {
      results: [{
        url: FOUND.url,
        title: "Yr",
        description: "<strong>Rain</strong> &amp; wind",
        age: "2 days ago",
        extra_snippets: [],
      }],
    },
  }, "2 days ago"],
  ["tavily", {
    query: "weather",
    answer: null,
    results: [{ title: "Yr", url: FOUND.url, content: "Rain & wind", score: 0.9, raw_content: null }],
  }],
  ["exa", {
    requestId: "x",
    results: [{
      id: "x",
      title: "Yr",
      url: FOUND.url,
      publishedDate: "2026-11-20",
      author: null,
      highlights: ["Rain & wind"],
    }],
  }, "2026-11-20"],
  ["serper", {
    searchParameters: {},
    organic: [{ title: "Yr", link: FOUND.url, snippet: "Rain & wind", date: "1 day ago", position: 1 }],
  }, "1 day ago"],
];

for (const [name, body, age] of ANSWERS) {
  Deno.test(`search: ${name}'s pages are read, their marks taken out`, () => {
    assertEquals(backendOf(name).read(body), [{ ...FOUND, ...(age && { age }) }]);
  });

  Deno.test(`search: what is no list of ${name}'s is an error, and an entry without an address none`, () => {
    for (const broken of ["", [], null, 7] as JsonValue[]) {
      assertThrows(() => backendOf(name).read(broken), GatewayError);
    }
    const list = JSON.parse(JSON.stringify(body).replaceAll(FOUND.url, "javascript:alert(1)"));
    assertEquals(backendOf(name).read(list), []);
  });
}

Deno.test("search: each service is asked in its own words", () => {
  assertEquals(backendOf("searxng").ask(), { path: "search?q=weather+site%3Ayr.no+OR+site%3Amet.no&format=json" });
  assertEquals(backendOf("brave").ask({ domains: { blocked: ["bad.test"] } }), {
    path: "web/search?q=weather+-site%3Abad.test&count=8&country=NO&extra_snippets=true",
  });
  assertEquals(backendOf("tavily").ask().body, {
    query: "weather",
    max_results: 8,
    search_depth: "basic",
    include_domains: ["yr.no/en", "met.no"],
  });
  assertEquals((backendOf("exa").ask().body as { includeDomains: string[] }).includeDomains, ["yr.no/en", "met.no"]);
  assertEquals(backendOf("serper").ask({ domains: undefined }).body, { q: "weather", num: 8, gl: "no" });
});

Deno.test("search: engines that are all silent are an outage, not nothing to find", () => {
  const { read } = backendOf("searxng");
  assertEquals(read({ results: [], unresponsive_engines: [] }), []);
  assertThrows(
    () => read({ results: [], unresponsive_engines: [["google", "CAPTCHA"]] }),
    GatewayError,
    "None of the search's engines",
  );
});
