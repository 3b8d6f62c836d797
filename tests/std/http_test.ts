/** Each declared signature of `@std/http` is exercised; `deno check` does not notice where one is missing in the package. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { type Cookie, getCookies, setCookie } from "../../src/std/http/cookie.ts";
import { eTag, ifNoneMatch } from "../../src/std/http/etag.ts";
import { accepts, acceptsEncodings } from "../../src/std/http/negotiation.ts";

const cookies = (cookie: string) => Object.entries(getCookies(new Headers({ cookie })));

Deno.test("@std/http: cookies are read, and what the gateway makes up for is as it was", () => {
  assertEquals(cookies("a=b;c=d; e=f=g"), [["a", "b"], ["c", "d"], ["e", "f=g"]]);
  assertEquals(Object.entries(getCookies(new Headers())), []);
  assertEquals(cookies('a="b"'), [["a", '"b"']]);
  assertEquals(cookies("a=1; a=2"), [["a", "2"]]);
  for (const nameless of ["a=b;", "=b", ""]) assertThrows(() => cookies(nameless), SyntaxError);
});

Deno.test("@std/http: a cookie is written with each of its attributes", () => {
  const written = (cookie: Cookie) => {
    const headers = new Headers();
    setCookie(headers, cookie);
    return headers.get("set-cookie");
  };
  const all: Cookie = { name: "a", value: "b", maxAge: 0, secure: true, httpOnly: true, sameSite: "Lax" };
  assertEquals(written(all), "a=b; Secure; HttpOnly; Max-Age=0; SameSite=Lax");
  assertEquals(written({ name: "__Host-a", value: "b" }), "__Host-a=b; Secure; Path=/");
  for (const value of ["a;b", "a b", "a\nb", "é"]) assertThrows(() => written({ name: "a", value }), SyntaxError);
});

Deno.test("@std/http: a tag is that of the content, and is found in a list", async () => {
  const tag = await eTag("text");
  assertMatch(tag, /^"[^"]+"$/);
  assertEquals(await eTag(new TextEncoder().encode("text"), { weak: true }), `W/${tag}`);
  assertEquals([ifNoneMatch(null, tag), ifNoneMatch('"other"', tag)], [true, true]);
  assertEquals([ifNoneMatch("*", tag), ifNoneMatch(`"other", W/${tag}`, tag)], [false, false]);
});

Deno.test("@std/http: the client's first choice is found, and none where it wants none", () => {
  const type = (accept: string) => accepts({ headers: new Headers({ accept }) }, "a/b", "c/d");
  assertEquals(["c/d, a/b;q=0.9", "*/*", "x/y", ""].map(type), ["c/d", "a/b", undefined, "a/b"]);
  const coding = (accepted: string) =>
    acceptsEncodings({ headers: new Headers({ "accept-encoding": accepted }) }, "br", "gzip");
  assertEquals(["gzip, br", "*", "x", ""].map(coding), ["gzip", "br", undefined, "br"]);
});
