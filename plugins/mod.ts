/** Every plugin there is: plain lists, so that a compiled binary and a hosted build see the whole graph. */
import type { Catalog } from "../src/contract/catalog.ts";
import type { Driver } from "../src/contract/driver.ts";
import type { AnyProtocol } from "../src/contract/protocol.ts";
import { chatDriver, chatProtocols } from "./chat/mod.ts";
import { hubCatalog } from "./hub/mod.ts";
import { messagesDriver, messagesProtocols } from "./messages/mod.ts";
import { responsesDriver, responsesProtocols } from "./responses/mod.ts";
import { sandbox } from "./sandbox/mod.ts";

/** Of protocols that share a pattern, those that look at the headers come first. */
export const protocols: readonly AnyProtocol[] = [...messagesProtocols, ...responsesProtocols, ...chatProtocols];
export const drivers: readonly Driver[] = [chatDriver, messagesDriver, responsesDriver, sandbox];
export const catalogs: readonly Catalog[] = [hubCatalog];
