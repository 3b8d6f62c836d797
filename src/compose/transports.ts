import { type Fetch, fetchTransport } from "../platform/fetch_transport.ts";
import type { Platform } from "../platform/platform.ts";
import type { Transport } from "../platform/transport.ts";
import type { Config } from "../config/schema.ts";
import type { Keep } from "./kept_parts.ts";

type TransportName = Config["transport"];

export interface Transports {
  /** The transport of this name. It is loaded at its first use. */
  get(name: TransportName): Transport;
  /** A transport for servers that clients name. It connects to public addresses only. */
  outside(): Transport;
  /** Closes the idle connections. */
  close(): void;
}

/** Creates the transports. Each has connections of its own. A given `fetch` replaces all of them. */
export function createTransports(fetch: Fetch | undefined, platform: Platform, keep: Keep): Transports {
  const byFetch = fetchTransport(fetch ?? platform.fetch);
  let byNode: Transport | undefined;
  let outside: Transport | undefined;
  return {
    get: (name) => name === "fetch" || fetch ? byFetch : byNode ??= keep("transport node", null, loadNodeTransport),
    outside: () => fetch ? byFetch : outside ??= keep("transport outside", null, loadOutsideTransport),
    close() {
      byFetch.close();
      byNode?.close();
      outside?.close();
    },
  };
}

const loadNodeTransport = () =>
  loadedLater(import("../platform/node_transport.ts").then(({ nodeTransport }) => nodeTransport()));

const loadOutsideTransport = () =>
  loadedLater(
    Promise.all([import("../platform/node_transport.ts"), import("../platform/public_address.ts")]).then((
      [{ nodeTransport }, { isPublicAddress }],
    ) => nodeTransport({ mayReach: isPublicAddress })),
  );

/** A transport that is usable while it loads: its modules take longer to load than a gateway to start. */
function loadedLater(loading: Promise<Transport>): Transport {
  let loaded: Transport | undefined;
  loading.then((transport) => loaded = transport);
  return {
    send: (request) => loaded ? loaded.send(request) : loading.then((transport) => transport.send(request)),
    close: () => void loading.then((transport) => transport.close()),
  };
}
