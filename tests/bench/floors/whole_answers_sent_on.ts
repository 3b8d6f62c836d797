/**
 * Claim: a gateway that reads what it passes on takes 1.4 to 2 times the processor time of one that does not, before it does any
 * work of its own, whether it calls by `fetch` (the cheapest body that is sent once) or by nothing but `node:http`. With what no
 * gateway can leave out it is 1.5 to 2.3 times (`by_hand.ts`). `deno run --allow-all` prints the four, by the request.
 */
import { bodyFor } from "../bodies.ts";
import { POSTS, printCosts, serve, serveGuarded } from "../by_hand.ts";
import { postBytes } from "../client.ts";
import { BARE, startGateway, startUpstream } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { startServer, stopServers } from "../server.ts";

const [UPSTREAM, TRANSPORT, GUARDED] = Deno.args;
const PATH = "/v1/chat/completions";

if (UPSTREAM) {
  (GUARDED ? serveGuarded : serve)(UPSTREAM, POSTS[TRANSPORT!]!, PATH, async (text, post) => {
    return JSON.stringify(JSON.parse(await post(JSON.stringify(JSON.parse(text)))));
  });
} else {
  const { origin } = await startUpstream();
  const servers = {
    "passed on": await startGateway(BARE, origin),
    "read and sent by fetch": await startServer([import.meta.url, origin, "fetch"]),
    "the same, guarded": await startServer([import.meta.url, origin, "fetch", "guarded"]),
    "read and sent by node:http": await startServer([import.meta.url, origin, "node"]),
  };
  const asked = Object.entries(servers).map(([name, server]) => {
    return [name, { ...server, request: postBytes(server.origin + PATH, bodyFor("chat", { bytes: 1_000 })) }];
  });
  await printCosts(Object.fromEntries(asked));
  await stopServers();
  await stopPrograms();
}
