/** What tests get that import Deno's platform, on Node. */
export { node as deno } from "../../src/platform/node.ts";
