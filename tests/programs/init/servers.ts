/** Model servers and a provider on this machine, which refuse what real ones refuse. */

export interface FakeServer {
  /** Its URL, without a path. */
  url: string;
  /** The keys of the requests. */
  keys: (string | null)[];
  stop(): Promise<void>;
}

export interface FakeServerOptions {
  /** The key that it wants. Absent if it takes any. */
  key?: string;
  models?: readonly string[];
  /** Answers first. */
  instead?(request: Request): Response | undefined;
}

/** A server with the endpoints of Ollama. */
export function fakeOllama(options: FakeServerOptions = {}): FakeServer {
  const { key, models = ["qwen3-coder:30b"], instead } = options;
  const keys: (string | null)[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const given = request.headers.get("authorization")?.replace("Bearer ", "") ?? null;
    keys.push(given);
    const other = instead?.(request);
    if (other) return other;
    if (key !== undefined && given !== key) {
      return Response.json({ error: { message: `Incorrect API key provided: ${given}` } }, { status: 401 });
    }
    if (pathname === "/api/version") return Response.json({ version: "0.14.1" });
    if (pathname === "/v1/models") {
      return Response.json({
        object: "list",
        data: models.map((id) => ({ id, object: "model", owned_by: "library" })),
      });
    }
    if (pathname !== "/v1/chat/completions" || request.method !== "POST") {
      return new Response("404 page not found", { status: 404 });
    }
    const { model } = await request.json();
    if (!models.includes(model)) {
      return Response.json({ error: { message: `model '${model}' not found` } }, { status: 404 });
    }
    const message = { role: "assistant", content: `Hello from ${model}` };
    return Response.json({
      id: "1",
      object: "chat.completion",
      model,
      choices: [{ index: 0, message, finish_reason: "stop" }],
    });
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, keys, stop: () => server.shutdown() };
}
