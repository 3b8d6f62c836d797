import { type Fetch, fetchTransport } from "../platform/fetch_transport.ts";
import type { Platform } from "../platform/platform.ts";
import type { Transport } from "../platform/transport.ts";
import type { Config } from "../config/schema.ts";
import type { Keep } from "./parts.ts";

type TransportName = Config["transport"];

export interface Transports {
  /** The transport by its name. One that nobody asks for is not loaded. */
  get(name: TransportName): Transport;
  /** A transport for servers that strangers name: it connects to public addresses alone. */
  outside(): Transport;
  /** Closes the connections that are kept. */
  close(): void;
}

/** Each transport with the connections of its own; a `fetch` that is given stands in for all of them. */
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

/** Its modules take longer to load than a gateway to start. */
function loadedLater(loading: Promise<Transport>): Transport {
  let loaded: Transport | undefined;
  loading.then((transport) => loaded = transport);
  return {
    send: (request) => loaded ? loaded.send(request) : loading.then((transport) => transport.send(request)),
    close: () => void loading.then((transport) => transport.close()),
  };
}
