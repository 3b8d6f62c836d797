import { assertEquals } from "@std/assert";
import { permits, rulesIn } from "../../src/fetcher/robots.ts";

/** The paths of those that may be fetched. */
const allowed = (text: string, paths: string[]) => {
  const rules = rulesIn(text);
  return paths.filter((path) => permits(rules, path));
};

Deno.test("robots: the group that names this program holds, whatever its letters; else the one for all", () => {
  const text =
    "User-Agent: *\nDisallow: /\n\nuser-agent: laneWAY/1.0\nuser-agent: other\nAllow: /a\nDisallow: /b # no\n";
  assertEquals(allowed(text, ["/a", "/b", "/c"]), ["/a", "/c"]);
  assertEquals(allowed("user-agent: other\ndisallow: /", ["/a"]), ["/a"]);
  assertEquals(allowed("user-agent: *\ndisallow: /a\n\nuser-agent: *\ndisallow: /b", ["/a", "/b", "/c"]), ["/c"]);
  assertEquals(allowed("user-agent: laneway\nuser-agent: *\ndisallow: /a", ["/a"]), []);
  assertEquals(allowed("user-agent: lanewayer\ndisallow: /a", ["/a"]), ["/a"]);
  assertEquals(allowed("user-agent: *\ndisallow: /\n\nuser-agent: laneway\n", ["/a"]), ["/a"]);
});

Deno.test("robots: the longest pattern that fits decides, and allows where two are alike", () => {
  assertEquals(allowed("user-agent: *\ndisallow: /a\nallow: /a/b", ["/a", "/a/b", "/a/c"]), ["/a/b"]);
  assertEquals(allowed("user-agent: *\ndisallow: /a\nallow: /a", ["/a"]), ["/a"]);
  assertEquals(allowed("user-agent: *\ndisallow:\n", ["/a"]), ["/a"]);
  assertEquals(allowed("user-agent: *\r\ndisallow: /a\r\n\r\ndisallow: /b", ["/a", "/b", "/c"]), ["/c"]);
});

Deno.test("robots: a star stands for any text, and a dollar for the end", () => {
  const text = "user-agent: *\ndisallow: /*.gif$\ndisallow: /x*y*z\ndisallow: /end$";
  const paths = ["/a.gif", "/a.gif?b", "/x1y2z3", "/xzy", "/end", "/ending", "/.gif"];
  assertEquals(allowed(text, paths), ["/a.gif?b", "/xzy", "/ending"]);
});

Deno.test("robots: escapes are compared by what they stand for", () => {
  const text = "user-agent: *\ndisallow: /%7ejoe\ndisallow: /caf%C3%A9\ndisallow: /tea-ü";
  assertEquals(allowed(text, ["/~joe", "/%7Ejoe", "/caf%c3%a9", "/tea-%C3%BC", "/a%2fb"]), ["/a%2fb"]);
});

Deno.test("robots: a file that is meant to take long does not", () => {
  const long = "*a".repeat(480);
  const text = "user-agent: *\n" + `disallow: /${long}b\n`.repeat(10_000);
  assertEquals(allowed(text, [`/${"a".repeat(1_900)}`]).length, 1);
  assertEquals(rulesIn(text).length, 2_000);
});
