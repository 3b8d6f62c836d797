/** The second pass over the provider that an upstream names. */
import { asObject } from "../canonical/json.ts";
import type { Providers } from "../contract/provider.ts";
import { isLoopback } from "../util/urls_and_headers.ts";
import { hint, quoted } from "./hint.ts";

type Fields = Readonly<Record<string, unknown>>;

/** `upstream`: with the settings of its provider. */
export function* providerProblems(
  path: string,
  { provider: name, baseUrl }: Fields,
  providers: Providers,
  config: Fields,
): Generator<{ path: string; message: string }, void> {
  if (typeof name !== "string") return;
  if (!Object.hasOwn(providers, name)) {
    yield { path: `${path}.provider`, message: `Cannot find provider "${name}"${hint(name, Object.keys(providers))}` };
    return;
  }
  const { hostname = "127.0.0.1", port = 8000 } = asObject(config.listen);
  const url = URL.parse(String(baseUrl));
  if (!url || !isLoopback(url.hostname) || Number(url.port) !== port || !isLoopback(String(hostname))) return;
  const message = `The gateway itself listens on port ${port}: start it on another one with --port, or set "baseUrl"`;
  yield { path: `${path}.baseUrl`, message };
}

/** The message for an upstream without a base URL. */
export function missingUrl(driver: string, provider: unknown, providers: Providers): string {
  if (typeof provider !== "string" || !Object.hasOwn(providers, provider)) {
    return `Missing: driver "${driver}" needs a base URL`;
  }
  const known = providers[provider]!.drivers;
  const form = Object.hasOwn(known, driver) ? known[driver]!.baseUrlForm : undefined;
  return form === undefined
    ? `Missing: provider "${provider}" is known to speak ${quoted(Object.keys(known))}, but not "${driver}"`
    : `Missing: provider "${provider}" has one for each user, such as "${form}"`;
}

/** The hint for an unknown driver. Many programs have drivers with the names of providers. */
export function driverHint(
  name: string,
  { drivers, providers }: { drivers: Readonly<Record<string, unknown>>; providers: Providers },
): string {
  const provider = Object.keys(providers).find((one) => one === name.toLowerCase());
  if (provider === undefined) return hint(name, Object.keys(drivers));
  const [driver] = Object.keys(providers[provider]!.drivers);
  return `; write "provider": "${provider}" instead, or "driver": "${driver}" with a baseUrl`;
}
