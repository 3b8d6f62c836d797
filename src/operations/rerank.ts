import type { Handler } from "./incoming.ts";
import { serveInputs } from "./whole.ts";

/** Documents in the order in which they answer a query. */
export const rerank: Handler<"rerank"> = serveInputs;
