/** Calls a server with TLS by each transport, prints how that went, and ends by itself. */
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import { nodeTransport } from "../../src/platform/node_transport.ts";
import { TransportError } from "../../src/platform/transport.ts";

const outcomes: Record<string, number | string> = {};
for (const [name, transport] of Object.entries({ fetch: fetchTransport(fetch), node: nodeTransport() })) {
  try {
    const request = { url: Deno.args[0]!, method: "GET", headers: {}, signal: new AbortController().signal };
    const { status, body } = await transport.send(request);
    while (await body!.read());
    outcomes[name] = status;
  } catch (thrown) {
    outcomes[name] = thrown instanceof TransportError ? thrown.failure : String(thrown);
  }
}
// deno-lint-ignore no-console -- what the test reads
console.log(JSON.stringify(outcomes));
