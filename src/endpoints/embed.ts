import type { Handler } from "../inference/incoming.ts";
import { serveInputs } from "../inference/unary.ts";

/** Texts as vectors. */
export const embed: Handler<"embed"> = serveInputs;
