import { assertEquals } from "@std/assert";
import { isWithin, plainDomains } from "../../src/hosted/domains.ts";

Deno.test("domains: a domain covers the hosts below it, and a path what is below that", () => {
  const allows = (domain: string, ...urls: string[]) => urls.map((url) => isWithin(url, { allowed: [domain] }));
  assertEquals(allows("example.com", "https://example.com/", "https://docs.example.com/a", "https://notexample.com/"), [
    true,
    true,
    false,
  ]);
  assertEquals(allows("docs.example.com", "https://example.com/", "https://docs.example.com/"), [false, true]);
  assertEquals(
    allows("example.com/docs", "https://example.com/docs", "https://example.com/docs/a", "https://example.com/docsy"),
    [true, true, false],
  );
  assertEquals(allows("example.com/*/api", "https://example.com/v1/api", "https://example.com/v1/web"), [true, false]);
  assertEquals(allows("EXAMPLE.com", "https://example.COM/"), [true]);
});

Deno.test("domains: blocked ones are left out, and what is no address is on none", () => {
  assertEquals(isWithin("https://a.bad.test/", { blocked: ["bad.test"] }), false);
  assertEquals(isWithin("https://good.test/", { blocked: ["bad.test"] }), true);
  assertEquals(isWithin("https://example.com.bad.test/", { allowed: ["example.com"] }), false);
  assertEquals(isWithin("https://example.com@bad.test/", { allowed: ["example.com"] }), false);
  assertEquals(isWithin("nonsense", {}), false);
});

Deno.test("domains: no other spelling of a blocked place passes, and every one of an allowed place does", () => {
  const SPELLINGS: [domain: string, url: string][] = [
    ["evil.com", "https://evil.com./"],
    ["evil.com/docs", "https://evil.com/%64ocs"],
    ["evil.com/docs", "https://evil.com//docs"],
    ["evil.com/docs", "https://evil.com/x/%2e%2e/docs"],
    ["evil.com/docs", "https://evil.com/x%2f..%2fdocs/a"],
    ["evil.com/Docs", "https://evil.com/Docs"],
    ["evil.com/docs", "https://evil.com/DOCS"],
    ["bücher.example", "https://xn--bcher-kva.example/"],
    ["https://evil.com/", "http://evil.com/a"],
    ["*.evil.com", "https://a.evil.com/"],
    [" evil.com ", "https://evil.com/"],
    ["evil.com:8080", "https://evil.com:8080/"],
    ["evil.com/docs/", "https://evil.com/docs"],
    ["evil.com/*/Api", "https://evil.com/v1/api"],
    ["evil.com/*", "https://evil.com/"],
    ["8.8.8.8", "https://[::ffff:8.8.8.8]/"],
    ["[64:ff9b::8.8.8.8]", "https://8.8.8.8/"],
    ["[2001:4860::8888]", "https://[2001:4860:0::8888]/"],
    [".evil.com", "https://a.evil.com/"],
    ["evil.com:443", "https://evil.com/"],
    ["https://evil.com:443", "https://evil.com:443/"],
    ["evil.com:80", "http://evil.com/"],
    ["evil.com:443", "http://evil.com:443/"],
    ["evil.com/docs", "https://evil.com/%64ocs%2f%ff"],
    ["evil.com/docs", "https://evil.com/docs%2F%e9t%e9"],
  ];
  for (const [domain, url] of SPELLINGS) {
    const found = [isWithin(url, { allowed: [domain] }), isWithin(url, { blocked: [domain] })];
    assertEquals([domain, url, ...found], [domain, url, true, false]);
  }
  for (
    const [domain, url] of [
      ["evil.com:8080", "https://evil.com/"],
      ["evil.com:80", "https://evil.com/"],
      ["evil.com:443", "https://evil.com:8443/"],
      ["evil.com/docs", "https://evil.com/docs/%2e%2e/x"],
      ["evil.com/*/api", "https://evil.com/v1/apiary"],
    ]
  ) {
    assertEquals([isWithin(url!, { allowed: [domain!] }), isWithin(url!, { blocked: [domain!] })], [false, true]);
  }
});

Deno.test("domains: a list that cannot be read is a mistake in the call, and services get what can be read in one form", () => {
  assertEquals(plainDomains({ blocked: ["not a host"] }), undefined);
  assertEquals(plainDomains({ allowed: ["example.com", ""] }), undefined);
  for (const wild of ["*", "ev*l.com", "*.evil.*", "evil.com/*/a/*/b"]) {
    assertEquals([wild, plainDomains({ blocked: [wild] })], [wild, undefined]);
  }
  assertEquals(plainDomains(undefined), {});
  assertEquals(
    plainDomains({ allowed: ["https://*.Example.com./Docs/", "bücher.example"], blocked: ["a.test/x/*/y"] }),
    {
      allowed: ["example.com/Docs", "xn--bcher-kva.example"],
      blocked: ["a.test/x/*/y"],
    },
  );
});
