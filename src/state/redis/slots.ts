/** Which part of a cluster a key belongs to. */

export const SLOTS = 16_384;

/** What of a key decides: what stands in its first braces, or else all of it. */
function tagOf(key: string): string {
  const from = key.indexOf("{");
  const to = from < 0 ? -1 : key.indexOf("}", from + 1);
  return to > from + 1 ? key.slice(from + 1, to) : key;
}

const POLYNOMIAL = 0x1021;
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  return crc;
});

/** By CRC-16 in the form of XMODEM. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(tagOf(key))) crc = (crc << 8 ^ TABLE[(crc >> 8 ^ byte) & 0xff]!) & 0xffff;
  return crc % SLOTS;
}

export interface Node {
  host: string;
  port: number;
}

/** A stretch of slots, and who has it. */
export interface Stretch {
  from: number;
  to: number;
  primary: Node;
}

/** What `CLUSTER SLOTS` replies, asked of `asked`: a node that knows no name of its own leaves it out. */
export function readSlots(reply: unknown, asked: Node): Stretch[] {
  return (reply as [unknown, unknown, [unknown, unknown]][]).map(([from, to, [host, port]]) => ({
    from: Number(from),
    to: Number(to),
    primary: { host: String(host ?? "") || asked.host, port: Number(port) },
  }));
}
