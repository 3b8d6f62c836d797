/** The URL that the command `health` asks. The launcher loads this file, too, so it imports only files that import nothing. */
import { isObject } from "../util/config_text.ts";

/** The settings that say where the gateway and the fetcher listen. */
export interface HealthTarget {
  /** It need not have been checked. */
  config: unknown;
  /** The options of the command line, which override the configuration. */
  listen: { hostname?: string; port?: string | number };
  /** Whether to ask the fetcher instead of the gateway. */
  isFetcher: boolean;
}

/** The URL to ask on the same machine. */
export function healthUrl({ config, listen, isFetcher }: HealthTarget): URL {
  const { listen: configured, hostedTools } = fields(config);
  const fetcher = URL.parse(String(fields(fields(hostedTools).webFetch).url));
  const written = isFetcher
    ? { port: fetcher?.port || (fetcher?.protocol === "https:" ? 443 : 80) }
    : fields(configured);
  const hostname = reachable(String(listen.hostname ?? fields(written).hostname ?? "127.0.0.1"));
  const port = listen.port ?? fields(written).port ?? 8000;
  return new URL(`http://${hostname}:${port}${isFetcher ? "/healthz" : "/readyz"}`);
}

/** Replaces the address that stands for all of a machine's, because clients cannot connect to it. */
function reachable(hostname: string): string {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (bare === "0.0.0.0" || bare === "") return "127.0.0.1";
  if (bare === "::") return "[::1]";
  return bare.includes(":") ? `[${bare}]` : bare;
}

function fields(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
