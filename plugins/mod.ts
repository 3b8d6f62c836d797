/** All plugins, as plain lists, so that a compiled binary and a hosted build see the whole module graph. */
import type { Fidelity } from "../src/contract/fidelity.ts";
import type { Catalog } from "../src/contract/catalog.ts";
import type { Driver } from "../src/contract/driver.ts";
import type { Providers } from "../src/contract/provider.ts";
import type { AnyProtocol } from "../src/contract/protocol.ts";
import type { StagePlugin } from "../src/contract/stage.ts";
import { audioDriver, audioProtocols } from "./audio/mod.ts";
import { chatDriver, chatProtocols } from "./chat/mod.ts";
import { completeBy, completionsDriver, completionsProtocols } from "./completions/mod.ts";
import { decideBy, decisionsDriver, decisionsProtocols } from "./decisions/mod.ts";
import { embeddingsDriver, embeddingsProtocols } from "./embeddings/mod.ts";
import { geminiProtocols } from "./gemini/mod.ts";
import { hub, hubCatalog, hubDrivers, routerCatalog } from "./hub/mod.ts";
import { imagesDriver, imagesProtocols } from "./images/mod.ts";
import { messagesDriver, messagesProtocols } from "./messages/mod.ts";
import { ollamaProtocols } from "./ollama/mod.ts";
import presets from "./providers/presets.json" with { type: "json" };
import { redact } from "./redact/mod.ts";
import { rerankDriver, rerankProtocols } from "./rerank/mod.ts";
import { responsesDriver, responsesProtocols } from "./responses/mod.ts";
import { searchBackends } from "./search/mod.ts";
import { serverModels } from "./server/mod.ts";
import { sandbox } from "./sandbox/mod.ts";

/** Among protocols that share a path pattern, those that check the headers come first. */
export const protocols: readonly AnyProtocol[] = [
  ...messagesProtocols,
  ...responsesProtocols,
  ...geminiProtocols,
  ...chatProtocols,
  ...completionsProtocols,
  ...decisionsProtocols,
  ...embeddingsProtocols,
  ...rerankProtocols,
  ...audioProtocols,
  ...imagesProtocols,
  ...ollamaProtocols,
];

/** Servers of the chat wire also serve the other endpoints of its family below the same base URL. */
const chatFamily: Driver = {
  ...chatDriver,
  models: serverModels,
  operations: {
    ...chatDriver.operations,
    complete: completeBy(chatDriver.operations.generate, true),
    decide: decideBy(chatDriver.operations.generate, "logprobs"),
    ...embeddingsDriver.operations,
    ...rerankDriver.operations,
    ...audioDriver.operations,
    ...imagesDriver.operations,
  },
};

/** Servers that have conversations only. Their models can be asked in words. */
function withWords(driver: Driver): Driver {
  const { operations } = driver;
  const complete = completeBy(operations.generate, false);
  return { ...driver, operations: { ...operations, complete, decide: decideBy(operations.generate, "schema") } };
}

export const drivers: readonly Driver[] = [
  chatFamily,
  withWords({ ...messagesDriver, models: serverModels }),
  withWords({ ...responsesDriver, models: serverModels }),
  completionsDriver,
  decisionsDriver,
  embeddingsDriver,
  rerankDriver,
  audioDriver,
  imagesDriver,
  ...hubDrivers,
  sandbox,
];
/** As data, because the launcher reads them without running any plugin. */
export const providers: Providers = presets;
export { hub, searchBackends };
/** In the order in which a request passes them. */
export const stages: readonly StagePlugin[] = [redact];
export const catalogs: readonly Catalog[] = [routerCatalog, hubCatalog, serverModels];

/** Loaded on demand. */
export async function fidelityTables(): Promise<Fidelity> {
  return (await import("./programs/fidelity/mod.ts")).fidelity;
}
