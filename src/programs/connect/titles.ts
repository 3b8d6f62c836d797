/** The titles of SDKs, and of the clients that the command `connect` knows, by the names that they give themselves. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import { sdks } from "../../../plugins/programs/clients/sdks.ts";

export function titlesByAgent(): Map<string, string> {
  return new Map([...clients, ...sdks].flatMap(({ title, agents = [] }) => agents.map((agent) => [agent, title])));
}
