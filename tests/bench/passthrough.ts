/** The least that a gateway in Deno can be: `Deno.serve` and `fetch`. What Laneway costs is measured against it. */
const [upstream, port = "0"] = Deno.args;

Deno.serve({ hostname: "127.0.0.1", port: Number(port) }, (request) => {
  const { pathname } = new URL(request.url);
  if (pathname === "/healthz") return new Response("ok");
  return fetch(upstream + pathname, {
    method: request.method,
    headers: { "content-type": "application/json" },
    body: request.body,
    signal: request.signal,
  });
});
