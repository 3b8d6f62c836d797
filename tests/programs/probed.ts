/** Servers of models, as the command `probe` meets them. */
import { type Examined, examineServer } from "../../src/programs/probe/examine.ts";
import { CHAT, chatBody, type ConfigInput, newApp } from "../support/app.ts";

export type Body = Record<string, unknown>;

export interface Fake {
  /** Answers in place of the whole server; nothing where it has no such address. */
  paths?: Record<string, (body: Body | undefined, request: Request) => Response | undefined>;
  /** The message of a chat answer. */
  message?(body: Body): Body;
  /** Why a chat request is refused. */
  refuse?(body: Body): Response | undefined;
  models?: Body[];
}

export const error = (status: number, message: string) => Response.json({ error: { message } }, { status });

/** A server of the chat wire, as the fake says. */
export function chatServer(
  { paths = {}, message = () => ({ content: "pong" }), refuse, models = [{ id: "m" }] }: Fake,
) {
  return async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const body = request.method === "POST" ? await request.json() : undefined;
    const own = paths[pathname]?.(body, request);
    if (own) return own;
    if (pathname === "/v1/models") return Response.json({ object: "list", data: models });
    if (pathname !== "/v1/chat/completions") return error(404, "Not Found");
    const refused = refuse?.(body);
    if (refused) return refused;
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
    const said = { role: "assistant", ...message(body) };
    const choice = { index: 0, finish_reason: "stop" };
    if (!body.stream) return Response.json({ id: "1", model: "m", choices: [{ ...choice, message: said }], usage });
    const chunks = [{ id: "1", model: "m", choices: [{ ...choice, delta: said }] }, {
      id: "1",
      model: "m",
      choices: [],
      usage,
    }];
    const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
    return new Response(`${text}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
  };
}

export async function withServer(
  handler: (request: Request) => Promise<Response>,
  use: (url: string) => Promise<void>,
) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
  try {
    await use(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

export const examine = (url: string, model?: string) => examineServer({ url, model, patienceMs: 10_000 });

export function valueOf({ findings }: Examined, property: string): string | undefined {
  return findings.find((finding) => finding.property === property)?.value;
}

/** What a gateway with this upstream answers. */
export async function answerThrough(entry: object): Promise<number> {
  const config = {
    upstreams: { probed: entry },
    lanes: { oss: { models: { m: { task: "chat", targets: [{ upstream: "probed", model: "m" }] } } } },
  };
  const app = newApp({ config: config as ConfigInput, fetch });
  try {
    const response = await app.post(CHAT, chatBody({ model: "m" }));
    await response.text();
    return response.status;
  } finally {
    await app.close();
  }
}
