/** Creates the parts that the console needs in addition to those of ordinary requests. */
import type { Config } from "../config/schema.ts";
import { kindsThat } from "../config/store_kinds.ts";
import type { ConsoleLogin, ConsoleParts, HealthFacts, KeyDesk } from "../context/console.ts";
import { GatewayError } from "../errors.ts";
import { type Caller, createKeyLookup } from "../http/auth.ts";
import { ConsoleSessions, type SessionHolder } from "../state/console_sessions.ts";
import { createKeyring } from "../state/keyring.ts";
import { setupFactsOf } from "./setup.ts";
import { describePlace, placeOfStore } from "./store.ts";
import type { World } from "./world.ts";

type Oidc = NonNullable<Config["oidc"]>;
type Lookup = Parameters<typeof createKeyLookup>[0];

/** The state that outlives a change of the configuration. */
export interface ConsoleHeld {
  sessions?: ConsoleSessions;
}

export async function createConsoleParts(world: World, keys: Lookup, held: ConsoleHeld): Promise<ConsoleParts> {
  const { store, clocks: { now }, config: { oidc } } = world;
  const find = createKeyLookup(keys);
  return {
    sessions: held.sessions ??= new ConsoleSessions({ store, now }),
    callerOf: async (holder) => "key" in holder ? await find(holder.key) : await namedBy(holder, oidc),
    login: oidc?.console && await loginAt(oidc, oidc.console, world),
    keys: keyDeskOf(world),
    configuration: await world.configuration?.(),
    setup: setupFactsOf(world),
    health: healthFactsOf(world),
    setupDesk: await world.setup?.(),
  };
}

function healthFactsOf({ config, platform, env, store, storeLosses }: World): HealthFacts {
  return { place: describePlace(placeOfStore(config.store, platform, env)), loss: () => storeLosses.last, store };
}

/**
 * The caller whom the provider named. A session ends if the provider or the client that named its holder is no longer
 * configured.
 */
async function namedBy(holder: Exclude<SessionHolder, { key: string }>, oidc: Oidc | undefined): Promise<Caller> {
  if (!oidc || !isOf(holder, oidc.issuer, oidc.console?.clientId)) {
    throw new GatewayError("authentication", "The session has ended: log in again");
  }
  const { callerFor } = await import("../http/oidc.ts");
  return callerFor(holder, oidc);
}

function isOf(holder: SessionHolder, issuer: string, clientId: string | undefined): boolean {
  return "issuer" in holder && holder.issuer === issuer && holder.clientId === clientId;
}

async function loginAt(oidc: Oidc, client: NonNullable<Oidc["console"]>, world: World): Promise<ConsoleLogin> {
  const { openLogin } = await import("./oidc.ts");
  const login = await openLogin(oidc, client, world);
  const { issuer } = oidc;
  const { clientId, url } = client;
  return {
    page: new URL(url),
    begin: () => login.begin(),
    finish: async (query, begun) => ({ issuer, clientId, ...await login.finish(query, begun) }),
    end: async (holder) => isOf(holder, issuer, clientId) ? await login.end() : undefined,
  };
}

function keyDeskOf({ config, store, clocks: { now }, platform, env }: World): KeyDesk {
  const why = whyNoKeys(config, placeOfStore(config.store, platform, env));
  return {
    configured: config.keys.map(({ secret: _, ...facts }) => facts),
    teams: config.teams ?? {},
    stored: why === undefined ? { keyring: createKeyring(store, now) } : { why },
  };
}

function whyNoKeys({ storedKeys, keys }: World["config"], place: ReturnType<typeof placeOfStore>): string | undefined {
  if (!storedKeys) {
    const first = keys.length > 0
      ? ""
      : " From then on keys are required: first create one for yourself with the command keys create <name> --operator.";
    return `To create and revoke keys here, set "storedKeys": true in the configuration.${first}`;
  }
  return place === "memory"
    ? `To create and revoke keys here, use a store of kind ${
      kindsThat("isLasting")
    }: keys in memory are lost when the gateway stops.`
    : undefined;
}
