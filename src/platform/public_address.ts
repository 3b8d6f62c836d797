/** Tells public addresses of the internet from those of this machine, its network or its cloud. */
import { lookup as resolveByName, type LookupAddress } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { SPECIAL_RANGES } from "./special_ranges.ts";

/** The only assigned IPv6 range. Inside it are ranges for protocols, for tunnels to any IPv4 address, and for examples. */
const GIVEN_OUT = "2000::/3";
const SPECIAL_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const refused = new BlockList();
const open = new BlockList();
for (const range of SPECIAL_RANGES) addTo(refused, range, "ipv4");
for (const range of SPECIAL_V6) addTo(refused, range, "ipv6");
addTo(open, GIVEN_OUT, "ipv6");

function addTo(list: BlockList, range: string, family: "ipv4" | "ipv6"): void {
  const [base = "", bits] = range.split("/");
  list.addSubnet(base, Number(bits), family);
}

/** Whether the text, without brackets, is a public address of the internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !refused.check(address, "ipv4");
  // An address with a zone belongs to a network of this machine.
  if (family !== 6 || address.includes("%")) return false;
  const inside = embedded(address);
  return inside === undefined
    ? open.check(address, "ipv6") && !refused.check(address, "ipv6")
    : isPublicAddress(inside);
}

/** The IPv4 address inside an IPv6 address: mapped, or as a network without IPv4 writes it (RFC 6052). */
export function embedded(address: string): string | undefined {
  const { hostname } = new URL(`http://[${address}]`);
  const found = /^\[(?:::ffff:|64:ff9b::)(?:([\da-f]{1,4}):)?([\da-f]{1,4})\]$/.exec(hostname);
  if (!found) return undefined;
  const [high, low] = [found[1] ?? "0", found[2]!].map((group) => parseInt(group, 16));
  return [high! >> 8, high! & 255, low! >> 8, low! & 255].join(".");
}

type Resolve = (
  name: string,
  options: { all: true; family?: number; hints?: number },
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Looks up a name's addresses for a connection by `resolve`. It fails if one of them is not public, whatever the others are, so that
 * a name's owner cannot mix them.
 */
export function publicLookup(resolve: Resolve = resolveByName as Resolve): LookupFunction {
  return (name, { all, family, hints }, callback) => {
    const wanted = family === "IPv4" ? 4 : family === "IPv6" ? 6 : family;
    resolve(name, { all: true, family: wanted, hints }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(new Error("The address is not public"), "", 0);
      }
      if (all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
