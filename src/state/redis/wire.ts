/** One connection to a server, for as long as it lasts. */
import type { RedisAddress } from "../../config/redis_url.ts";
import { builtin } from "../../util/builtin.ts";
import { failAfterAwake } from "../../util/timeout.ts";

/** A command with its arguments. */
export type Command = readonly (string | Uint8Array)[];

export interface Wire {
  /** The reply, texts in it as bytes. Throws what the server refuses, and where the connection is lost before. */
  send(command: Command): Promise<unknown>;
  /** Resolves to why, once the connection is lost. */
  readonly lost: Promise<Error>;
  /** What was sent and not answered fails. */
  destroy(): void;
}

export interface WireOptions {
  address: RedisAddress;
  /** The certificates of who may sign the server's, in PEM; the system's where it is absent. */
  ca?: string;
  /** How long it may take to connect and to be greeted, in milliseconds. */
  connectMs: number;
}

/** After so many times as long the package gives up a host that does not answer at all: until then it cannot be stopped. */
const GIVEN_UP_AFTER = 10;

/** The package takes a tenth of a second to load, hence nobody does who has no such server. */
export const loadClient = () => import("redis-client");

export async function openWire({ address, ca, connectMs }: WireOptions): Promise<Wire> {
  const { createClient, RESP_TYPES } = await loadClient();
  const [{ host, port }] = address.hosts as [RedisAddress["hosts"][number]];
  const client = createClient({
    ...credentialsOf(address),
    RESP: 2,
    // A command fails at once where there is no connection. Whoever holds this one opens the next.
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
  // The package counts the time in which this process is busy, and waits for ever for a server that is frozen.
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
