/** `@std/http/cookie`. */
// @ts-types="./cookie.d.ts"
export { type Cookie, getCookies, setCookie } from "deno-std/http/cookie.js";
