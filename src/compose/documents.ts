/** The reader of documents, as the configuration wants it. */
import type { Config } from "../config/schema.ts";
import { createReadDocument, type ReadDocument } from "../hosted/read_document.ts";
import { fetcherOf } from "./hosted_runner.ts";
import type { World } from "./world.ts";

export function openDocuments(
  { pages, maxCharacters: characters, timeoutMs }: NonNullable<Config["documents"]>,
  world: World,
): ReadDocument {
  const service = fetcherOf(world.config.hostedTools.webFetch ?? {}, world);
  return createReadDocument({ service, timeoutMs, characters, pages, now: world.clocks.monotonic });
}
