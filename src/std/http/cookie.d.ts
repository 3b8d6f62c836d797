/** The signatures of `@std/http/cookie` (1.0) that are used. */

export interface Cookie {
  name: string;
  value: string;
  /** In seconds. */
  maxAge?: number;
  secure?: boolean;
  httpOnly?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
}

/** Throws a `SyntaxError` if a cookie has no name. If several have one name, it returns the last. */
export function getCookies(headers: Headers): Partial<Record<string, string>>;

/** Appends `Set-Cookie`. A name that begins with `__Host-` makes the cookie `Secure` and gives it the path `/`. */
export function setCookie(headers: Headers, cookie: Cookie): void;
