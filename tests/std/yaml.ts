/** `@std/yaml`, typed: the package on npm has no types. */
// @ts-types="./yaml.d.ts"
export { parse, parseAll } from "deno-std/yaml/mod.js";
