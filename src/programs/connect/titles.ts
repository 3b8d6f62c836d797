/** The titles of the clients that the command `connect` knows, by the names that they give themselves. */
import { clients } from "../../../plugins/programs/clients/mod.ts";

export function titlesByAgent(): Map<string, string> {
  return new Map(clients.flatMap(({ title, agents = [] }) => agents.map((agent) => [agent, title])));
}
