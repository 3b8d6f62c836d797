/** The fetcher's permissions. The launcher loads this file, so it imports only files that import nothing. */
import { SPECIAL_RANGES } from "../platform/special_ranges.ts";

export interface FetcherPlace {
  /** The address that it listens on. */
  hostname: string;
  /** The origins of internal hosts that it may fetch from. */
  allow: readonly string[];
  /** Whether it opens pages, as it does by default. Otherwise it only listens. */
  opensPages?: boolean;
  /** The folder of its code. */
  code: string;
}

/** The ranges of internal hosts that are listed by name, because a name's address is not known in advance. */
const INNER_RANGES = ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16"];
const LOOPBACK_RANGE = "127.0.0.0/8";
/** Deno (2.9.6) can deny only single IPv6 addresses: these are this machine's, and the metadata service of a large cloud. */
const DENIED_V6 = ["[::]", "[::1]", "[fd00:ec2::254]"];

/**
 * The permissions as options of `deno run`. The runtime checks every address that the fetcher connects to, whatever its name, and
 * the code checks it before that, IPv6 included. The address that it listens on cannot be denied, except for the ports of pages.
 */
export function fetcherFlags({ hostname, allow, opensPages = true, code }: FetcherPlace): string[] {
  const hosts = allow.flatMap((origin) => URL.parse(origin)?.hostname ?? []);
  const names = hosts.filter((host) => !isAddress(host));
  const isLocal = (name: string) => /^(.*\.)?localhost$/.test(name);
  const open = [
    ...(names.some((name) => !isLocal(name)) ? INNER_RANGES : []),
    ...(names.some(isLocal) ? [LOOPBACK_RANGE, "[::1]"] : []),
  ];
  const addresses = [hostname, ...hosts].filter(isAddress);
  const ranges = [...SPECIAL_RANGES, ...DENIED_V6].filter((range) => !open.includes(range));
  const ownPorts = hosts.includes(hostname) || open.includes(LOOPBACK_RANGE) ? [] : [80, 443];
  const own = hostname.includes(":") ? `[${hostname}]` : hostname;
  const denied = [
    ...ranges.filter((range) => range !== own).flatMap((range) => without(range, addresses)),
    ...ownPorts.map((port) => `${own}:${port}`),
  ];
  return [
    ...(opensPages ? ["--allow-net", `--deny-net=${denied.join(",")}`] : [`--allow-net=${own}`]),
    "--allow-env=LANEWAY_FETCHER_TOKEN",
    `--allow-read=${code.replaceAll(",", ",,")}`,
    "--deny-import",
    "--cached-only",
    "--no-prompt",
  ];
}

export function isAddress(host: string): boolean {
  return host.includes(":") || /^\d+(\.\d+){3}$/.test(host);
}

/** An IPv4 range without some addresses, as ranges. */
function without(range: string, addresses: readonly string[]): string[] {
  const [base = "", length] = range.split("/");
  if (length === undefined) return [range];
  const bits = Number(length);
  const [from, size] = [numberOf(base), 2 ** (32 - bits)];
  const isInside = addresses.some((address) => {
    const at = address.includes(":") ? -1 : numberOf(address);
    return at >= from && at < from + size;
  });
  if (!isInside) return [range];
  if (bits === 32) return [];
  return [from, from + size / 2].flatMap((half) => without(`${addressOf(half)}/${bits + 1}`, addresses));
}

function numberOf(address: string): number {
  return address.split(".").reduce((number, part) => number * 256 + Number(part), 0);
}

function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}
