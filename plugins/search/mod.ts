/** Services that search the web for models whose servers do not. */
import type { SearchBackend } from "../../src/contract/search.ts";
import { brave } from "./brave.ts";
import { exa } from "./exa.ts";
import { searxng } from "./searxng.ts";
import { serper } from "./serper.ts";
import { tavily } from "./tavily.ts";

export const searchBackends: readonly SearchBackend[] = [searxng, brave, tavily, exa, serper];
