import type { Handler } from "../inference/incoming.ts";
import { serveInputs } from "../inference/unary.ts";

/** Documents in the order in which they answer a query. */
export const rerank: Handler<"rerank"> = serveInputs;
