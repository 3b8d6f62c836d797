import type { Handler } from "./incoming.ts";
import { serveInputs } from "./whole.ts";

/** Texts as vectors. */
export const embed: Handler<"embed"> = serveInputs;
