/** One connection to a server, which is not opened again once it is lost. */
import type { RedisAddress } from "../../config/redis_url.ts";
import { builtin } from "../../util/builtin.ts";
import { failAfterAwake } from "../../util/timeout.ts";

/** A command with its arguments. */
export type Command = readonly (string | Uint8Array)[];

export interface Wire {
  /** The reply, with its texts as bytes. Throws the server's error, and if the connection is lost before the reply. */
  send(command: Command): Promise<unknown>;
  /** Resolves to the reason once the connection is lost. */
  readonly lost: Promise<Error>;
  /** Closes the connection. Commands without a reply fail. */
  destroy(): void;
}

export interface WireOptions {
  address: RedisAddress;
  /** The certificate authorities for the server's certificate, in PEM. If absent, the system's. */
  ca?: string;
  /** How long it may take to connect and to be greeted, in milliseconds. */
  connectMs: number;
  /** In place of the package. */
  loadClient?: LoadClient;
}

/** The package gives up a silent host after this many times `connectMs`. Until then it cannot be stopped. */
const GIVEN_UP_AFTER = 10;

/** The package takes a tenth of a second to load, so it is loaded only for such a server. */
export const loadClient = () => import("redis-client");

export type LoadClient = () => Promise<Pick<Awaited<ReturnType<typeof loadClient>>, "createClient" | "RESP_TYPES">>;

export async function openWire(options: WireOptions): Promise<Wire> {
  const { address, ca, connectMs } = options;
  const { createClient, RESP_TYPES } = await (options.loadClient ?? loadClient)();
  const [{ host, port }] = address.hosts as [RedisAddress["hosts"][number]];
  const client = createClient({
    ...credentialsOf(address),
    RESP: 2,
    // A command fails at once without a connection. The owner of this connection opens the next one.
    disableOfflineQueue: true,
    socket: {
      host: host.replace(/^\[|\]$/g, ""),
      port,
      ...(address.hasTls && { tls: true, servername: host, ...(ca !== undefined && { ca }) }),
      connectTimeout: GIVEN_UP_AFTER * connectMs,
      reconnectStrategy: false,
    },
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: builtin("node:buffer").Buffer } },
  });
  const { promise: lost, resolve } = Promise.withResolvers<Error>();
  client.on("error", resolve);
  // The package's own time-out counts time in which this process is busy, and it waits for ever for a frozen server.
  const connecting = client.connect();
  try {
    await failAfterAwake(connectMs, connecting, () => new Error(`The store did not answer within ${connectMs} ms`));
  } catch (error) {
    const end = () => client.destroy();
    end();
    connecting.then(end, end); // it may be connected after all
    throw error;
  }
  return {
    send: (command) => client.sendCommand(command as string[]),
    lost,
    destroy: () => client.destroy(),
  };
}

function credentialsOf({ username, password, database }: RedisAddress) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
  };
}
