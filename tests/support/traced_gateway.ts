/** A gateway as people start it, which exports to a collector, before servers of models of this process. */
import { answerOn, PAGES } from "./hosted_rig.ts";
import { type Collector, withCollector } from "./otlp.ts";
import { type Launched, withFolder, withLaunched } from "./process.ts";
import { CHAT } from "./wires.ts";

export interface TracedGateway extends Launched {
  collector: Collector;
  /** The requests to upstreams, with their headers. */
  asked: { path: string; headers: Headers }[];
}

export interface TracedOptions {
  env?: Record<string, string>;
  observe?: object;
  /** Beside `first` and `second`. */
  config?: object;
  /** The actions of a model in each round, where `{held}` is what the gateway has redacted. */
  rounds?: readonly (readonly string[])[];
}

/** `first` always fails, `second` answers and learns of the trace; a search knows two pages. */
export function withTracedGateway(
  { env, observe = {}, config = {}, rounds = [["whole"]] }: TracedOptions,
  use: (gateway: TracedGateway) => Promise<void>,
): Promise<void> {
  const asked: TracedGateway["asked"] = [];
  let round = 0;
  const upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    asked.push({ path: pathname, headers: request.headers });
    const body = await request.text();
    if (pathname.startsWith("/search")) return Response.json({ results: PAGES });
    if (pathname.startsWith("/first")) return new Response(`no: ${body}`, { status: 503 });
    const held = body.match(/redacted-\w+-[\w@.]+/g)?.join(" ") ?? "";
    const says = rounds[round++ % rounds.length]!.map((one) => one.replace("{held}", held));
    return answerOn(CHAT, says, JSON.parse(body).stream === true);
  });
  const base = `http://127.0.0.1:${upstream.addr.port}`;
  const targets = [{ upstream: "first", model: "org/model" }, { upstream: "second", model: "org/model" }];
  return withFolder((folder) =>
    withCollector(async (collector) => {
      const gateway = {
        upstreams: {
          first: { driver: "chat", baseUrl: `${base}/first/v1` },
          second: { driver: "chat", baseUrl: `${base}/second/v1`, propagateTrace: true },
        },
        lanes: { oss: { models: { model: { task: "chat", targets, price: { input: 1, output: 2 } } } } },
        hostedTools: { webSearch: { backend: "searxng", baseUrl: `${base}/search` } },
        retry: { budgetMs: 0 },
        store: { kind: "memory" },
        observe,
        ...config,
      };
      await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(gateway));
      const options = { cwd: folder, env: { ...collector.env, ...env } };
      await withLaunched([], options, (launched) => use({ ...launched, collector, asked }));
    })
  ).finally(() => upstream.shutdown());
}
