/** The console's cookies, as browsers send and keep them. */
import { type Cookie, getCookies, setCookie } from "../../std/http/cookie.ts";

/**
 * The cookies by their names. If several have one name, the first counts, because it is for the path that is nearest to
 * the page. A cookie without a name comes from another program on the host, and is skipped.
 */
export function cookiesOf({ headers }: Request): ReadonlyMap<string, string> {
  // The package would take the last one, and throws if there is no name. It trims white space that browsers take for a part
  // of the name, so another program on the host could set a cookie whose name then begins with `__Host-`.
  const named = (headers.get("cookie") ?? "").split(";").filter((cookie) => /^[ \t]*[^\s=]/.test(cookie)).toReversed();
  if (named.length === 0) return new Map();
  const cookies = Object.entries(getCookies(new Headers({ cookie: named.join(";") })));
  return new Map(cookies.map(([name, value = ""]) => [name, value.trim().replace(/^"(.*)"$/, "$1")]));
}

/** The text of the header that sets a cookie. */
export function textToSet(cookie: Cookie): string {
  const headers = new Headers();
  setCookie(headers, cookie);
  return headers.get("set-cookie")!;
}
