/** Where the command `health` asks. The launcher reads this file, too: it imports nothing but what imports nothing. */
import { isObject } from "../util/merge.ts";

/** What of a configuration says where both listen. It need not be checked. */
export interface HealthTarget {
  config: unknown;
  /** What the command line sets in place of the configuration. */
  listen: { hostname?: string; port?: string | number };
  /** Whether the fetcher is asked for in place of the gateway. */
  isFetcher: boolean;
}

/** Where it is asked, from the same machine. */
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

/** Nobody can connect to the address that stands for all of them. */
function reachable(hostname: string): string {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (bare === "0.0.0.0" || bare === "") return "127.0.0.1";
  if (bare === "::") return "[::1]";
  return bare.includes(":") ? `[${bare}]` : bare;
}

function fields(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
