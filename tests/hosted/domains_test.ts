import { assertEquals } from "@std/assert";
import { isWithin } from "../../src/hosted/domains.ts";

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
