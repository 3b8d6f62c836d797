import type { FakeHub } from "../fake_hub.ts";
import { HOSTS } from "./asked.ts";

/**
 * The fake hub on a local port that the system chooses. A host becomes the first segment of the path, also in the URLs that
 * the hub gives: `https://fal.media/files` is at `<origin>/fal.media/files`.
 */
export function serveHub(hub: FakeHub): { origin: string; stop(): Promise<void> } {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { origin, pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const body = method === "GET" || method === "HEAD" ? undefined : await request.bytes();
    try {
      return await here(await hub.fetch(`https:/${pathname}${search}`, { method, headers, body }), origin);
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 502 });
    }
  });
  return { origin: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}

async function here(response: Response, origin: string): Promise<Response> {
  const move = (text: string) =>
    Object.values(HOSTS).reduce((moved, host) => moved.replaceAll(`https://${host}/`, `${origin}/${host}/`), text);
  const headers = new Headers(response.headers);
  const link = headers.get("link");
  if (link !== null) headers.set("link", move(link));
  const isJson = headers.get("content-type")?.startsWith("application/json");
  return new Response(isJson ? move(await response.text()) : response.body, { status: response.status, headers });
}
