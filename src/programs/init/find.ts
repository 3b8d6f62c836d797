/** Finds model servers and clients on this machine. */
import { listing, usualAddresses } from "../../../plugins/programs/probing/mod.ts";
import type { SecretHeader } from "../../contract/call.ts";
import type { Platform } from "../../platform/platform.ts";
import { printable } from "../../util/printable.ts";
import { foundClients } from "../connect/found_clients.ts";
import { findKind } from "../probe/examine.ts";
import { modelsIn, openProbe, ProbeError } from "../probe/probe_call.ts";
import type { Found, FoundServer } from "./answers.ts";
import { UNKNOWN_SERVER } from "./names.ts";

/** How long a server may take for one answer, in milliseconds. All are asked at once. */
const PATIENCE_MS = 500;
/** How long the questions for a server's kind may take each. */
const KIND_PATIENCE_MS = 1_500;

/** `except`: the address of a gateway that looks for others, and need not ask itself. */
export async function find(
  platform: Platform,
  addresses: readonly string[] = usualAddresses,
  except?: string,
): Promise<Found> {
  const own = except && URL.parse(except)?.host;
  const others = addresses.filter((baseUrl) => new URL(baseUrl).host !== own);
  const servers = await Promise.all(others.map((baseUrl) => serverAt(baseUrl, platform)));
  return { servers: servers.filter((server) => server !== undefined), clients: foundClients(platform) };
}

/** How a gateway of this kind identifies itself. It is no source of models for another one. */
const OWN_TITLE = "Laneway";

async function serverAt(baseUrl: string, platform: Pick<Platform, "fetch">): Promise<FoundServer | undefined> {
  const ask = openProbe({ baseUrl: `${baseUrl}/`, patienceMs: PATIENCE_MS, fetch: platform.fetch });
  const list = await ask(listing.path, undefined, listing.headers);
  const needsSecret = list.status === 401 || list.status === 403;
  const isList = list.status === 200 && Array.isArray((list.body as { data?: unknown } | null | undefined)?.data);
  if (!needsSecret && !isList) return undefined;
  const title = await kindAt({ baseUrl }, platform);
  if (title?.startsWith(OWN_TITLE)) return undefined;
  return {
    baseUrl,
    title: printable(title ?? UNKNOWN_SERVER),
    models: modelsIn(list).filter(isModelName),
    needsSecret,
  };
}

const LONGEST_NAME = 512;

/** Names with control characters are no names: they would change the terminal. */
export function isModelName(text: string): boolean {
  return text.length <= LONGEST_NAME && !/\p{Cc}/u.test(text);
}

interface Address {
  baseUrl: string;
  query?: string;
  secret?: string;
}

const BEARER: SecretHeader = { header: "authorization", scheme: "Bearer" };

/** The name by which a server identifies itself, with its version. */
export async function kindAt(
  { baseUrl, query, secret }: Address,
  { fetch }: Pick<Platform, "fetch">,
): Promise<string | undefined> {
  const access = secret === undefined ? undefined : { value: secret, place: BEARER };
  const ask = openProbe({ baseUrl: `${baseUrl}/`, query, access, patienceMs: KIND_PATIENCE_MS, fetch });
  try {
    return (await findKind(ask, await ask(listing.path, undefined, listing.headers))).title;
  } catch (error) {
    if (error instanceof ProbeError) return undefined;
    throw error;
  }
}
