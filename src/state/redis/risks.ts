/** By what a server may lose what it is given, before it expires. */
import type { StoreRisk } from "../store_server.ts";
import { openLink, type RedisPlace } from "./open.ts";

/** What one node of the server says of itself. Throws where it does not answer, or lets nobody ask. */
export async function readRisks(place: RedisPlace): Promise<StoreRisk[]> {
  const link = openLink(place);
  try {
    const memory = fieldsOf(await link.send(["INFO", "memory"]));
    const persistence = fieldsOf(await link.send(["INFO", "persistence"]));
    const { maxmemory = "0", maxmemory_policy: policy = "noeviction" } = memory;
    const risks: StoreRisk[] = [];
    if (maxmemory !== "0" && policy !== "noeviction") {
      risks.push({
        name: "store-evicts",
        message: `The server may remove conversations, keys and counts at any time: when its memory of ` +
          `${Number(maxmemory).toLocaleString("en")} bytes is full, its maxmemory-policy is ${policy}`,
        cure: "Set maxmemory-policy noeviction on the server",
      });
    }
    if (persistence.aof_enabled === "0" && await savesNothing(link)) {
      risks.push({
        name: "store-not-persistent",
        message: "The server keeps nothing on disk: when it restarts, conversations, stored keys and counts are lost",
        cure: "Set appendonly yes on the server",
      });
    }
    return risks;
  } finally {
    link.close();
  }
}

/** Whether it makes no snapshots. Where nobody may ask, it is taken to make some. */
async function savesNothing(link: ReturnType<typeof openLink>): Promise<boolean> {
  try {
    const reply = await link.send(["CONFIG", "GET", "save"]);
    // A map in the newer protocol.
    const values = Array.isArray(reply) ? reply : Object.values(reply as object);
    return String(values.at(-1)) === "";
  } catch {
    return false;
  }
}

function fieldsOf(info: unknown): Record<string, string> {
  const lines = String(info).split("\r\n").filter((line) => line.includes(":"));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]));
}
