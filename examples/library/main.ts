/**
 * The gateway inside another program: this one has a page of its own, and serves models below `/ai`.
 *
 *     deno serve --allow-net examples/library/main.ts
 *     curl http://127.0.0.1:8000/ai/oss/v1/models
 */
import { type Config, createApp, parseConfig, type Peer } from "@laneway/gateway";

const config: Config = parseConfig({
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { models: { sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
  store: { kind: "memory" },
});

const gateway = createApp({ config });

export default {
  async fetch(request: Request, info: { remoteAddr: Peer }): Promise<Response> {
    const url = new URL(request.url);
    if (!url.pathname.startsWith("/ai/")) return new Response("A page of the program's own\n");
    url.pathname = url.pathname.slice("/ai".length);
    return await gateway.fetch(new Request(url, request), info);
  },
};
