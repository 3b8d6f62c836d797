/** What the console needs beside what every request does. */
import type { ConsoleParts, KeyDesk } from "../context/console.ts";
import { createKeyLookup } from "../http/auth.ts";
import { ConsoleSessions } from "../state/console_sessions.ts";
import { createKeyring } from "../state/keyring.ts";
import { placeOfStore } from "./store.ts";
import type { World } from "./world.ts";

type Lookup = Parameters<typeof createKeyLookup>[0];

/** What outlives a change of the configuration. */
export interface ConsoleHeld {
  sessions?: ConsoleSessions;
}

export async function createConsoleParts(world: World, keys: Lookup, held: ConsoleHeld): Promise<ConsoleParts> {
  const { store, now } = world;
  return {
    sessions: held.sessions ??= new ConsoleSessions({ store, now }),
    callerOf: createKeyLookup(keys),
    keys: keyDeskOf(world),
    configuration: await world.configuration?.(),
  };
}

function keyDeskOf({ config, store, now, platform, env }: World): KeyDesk {
  const why = whyNoKeys(config, placeOfStore(config.store, platform, env));
  return {
    configured: config.keys.map(({ secret: _, ...facts }) => facts),
    teams: config.teams ?? {},
    stored: why === undefined ? { keyring: createKeyring(store, now) } : { why },
  };
}

function whyNoKeys({ storedKeys }: World["config"], place: ReturnType<typeof placeOfStore>): string | undefined {
  if (!storedKeys) return 'To make and revoke keys here, set "storedKeys": true in the configuration.';
  return place === "memory"
    ? 'To make and revoke keys here, use a store of kind "kv" or "redis": what is in memory ends with the gateway.'
    : undefined;
}
