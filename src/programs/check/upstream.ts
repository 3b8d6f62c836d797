/** The server of a model that answers by a script, for a gateway that has it as its upstream. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { ScriptedUpstream } from "../../contract/conformance.ts";

export interface Served extends ScriptedUpstream {
  /** Its base URL. */
  url: string;
  close(): Promise<void>;
}

/** On a port of this machine; 0 for a free one. It lists the one model. Throws where the port is taken. */
export function serveUpstream(port: number, model: string): Served {
  const asked: JsonObject[] = [];
  let script: (() => Response)[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, onListen() {}, onError: () => new Response(null) },
    async (request) => {
      if (request.method === "GET") return Response.json({ object: "list", data: [{ id: model, object: "model" }] });
      const body: JsonValue = await request.json().catch(() => null);
      if (!new URL(request.url).pathname.endsWith("/chat/completions")) {
        return Response.json({ error: { message: "Only chat is served here", type: "not_found" } }, { status: 404 });
      }
      if (isJsonObject(body)) asked.push(body);
      const next = script.length > 1 ? script.shift() : script[0];
      return next?.() ??
        Response.json({ error: { message: "Nothing in the script", type: "server_error" } }, { status: 500 });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    asked,
    answer: (...responses) => void (script = responses),
    close: () => server.shutdown(),
  };
}
