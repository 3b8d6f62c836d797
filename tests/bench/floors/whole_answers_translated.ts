/**
 * Claim: a server that answers clients of the messages wire in front of a chat upstream, written by hand with no form between the
 * two and no more than the safeguards that no gateway can leave out, takes 1.8 to 2.4 times what bare takes by `fetch`, and 1.5 to
 * 1.9 times by `node:http`. Of "2.5 times bare" that leaves little for all else. `deno run --allow-all` prints them.
 */
import { bodyFor, type Wire } from "../bodies.ts";
import { POSTS, printCosts, serveGuarded } from "../by_hand.ts";
import { postBytes } from "../client.ts";
import { BARE, laneway, startGateway, startUpstream } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { startServer, stopServers } from "../server.ts";
import { toChat, toMessage } from "../translated_by_hand.ts";

const [UPSTREAM, TRANSPORT] = Deno.args;

if (UPSTREAM) {
  serveGuarded(UPSTREAM, POSTS[TRANSPORT!]!, "/v1/chat/completions", async (text, post) => {
    return JSON.stringify(toMessage(JSON.parse(await post(JSON.stringify(toChat(JSON.parse(text)))))));
  });
} else {
  const { origin } = await startUpstream();
  const asked = ({ origin, pid }: { origin: string; pid: number }, path: string, wire: Wire = "messages") => {
    return { origin, pid, request: postBytes(origin + path, bodyFor(wire, { bytes: 1_000 })) };
  };
  await printCosts({
    "passed on": asked(await startGateway(BARE, origin), "/v1/chat/completions", "chat"),
    "translated, by fetch": asked(await startServer([import.meta.url, origin, "fetch"]), "/v1/messages"),
    "translated, by node:http": asked(await startServer([import.meta.url, origin, "node"]), "/v1/messages"),
    "Laneway": asked(await startGateway(laneway(), origin), "/oss/v1/messages"),
    "Laneway, node": asked(await startGateway(laneway("", { transport: "node" }), origin), "/oss/v1/messages"),
  });
  await stopServers();
  await stopPrograms();
}
