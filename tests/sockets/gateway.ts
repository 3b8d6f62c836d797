import type { Pace } from "../../src/context/gateway.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { within } from "../support/wait.ts";
import { TcpClient, TcpUpstream } from "./tcp.ts";

export interface Setting {
  app: TestApp;
  /** The gateway's address, without a slash at its end. */
  url: string;
  server: Deno.HttpServer;
  upstream: TcpUpstream;
  /** A new client of the gateway; closed at the end if it is not before. */
  connect(): Promise<TcpClient>;
}

export interface SettingOptions {
  timeouts?: { headMs?: number; firstEventMs?: number; idleMs?: number; wholeMs?: number; totalMs?: number };
  pace?: Partial<Pace>;
  /** More of the upstream, of the model and of the whole. */
  upstream?: Partial<NonNullable<ConfigInput["upstreams"]>[string]>;
  model?: { targets?: { upstream: string; model: string }[]; hedgeAfterMs?: number };
  retry?: ConfigInput["retry"];
  limits?: ConfigInput["limits"];
}

/** What the gateway calls its upstreams by. */
export type TransportName = "fetch" | "node";

export const TRANSPORTS: readonly TransportName[] = ["fetch", "node"];

/** That of the test that runs. */
let transport: TransportName = "fetch";

/** A test for each transport: `withGateway` calls by it. */
export function testEach(name: string, run: () => Promise<void>): void {
  for (const one of TRANSPORTS) {
    Deno.test(`${name} · ${one}`, async () => {
      transport = one;
      try {
        await run();
      } finally {
        transport = "fetch";
      }
    });
  }
}

/** Calls `use` with a gateway that listens on a port of its own before an upstream that does, and ends both. */
export async function withGateway(
  use: (setting: Setting) => Promise<void>,
  { timeouts = {}, pace, upstream: more, model, retry, limits }: SettingOptions = {},
): Promise<void> {
  const upstream = new TcpUpstream();
  const config: ConfigInput = {
    transport,
    upstreams: {
      tcp: { driver: "chat", baseUrl: upstream.baseUrl, secret: { env: "UPSTREAM_SECRET" }, timeouts, ...more },
      sandbox: { driver: "sandbox" },
    },
    lanes: {
      oss: {
        models: {
          model: { task: "chat", targets: [{ upstream: "tcp", model: "org/model" }], ...model },
          sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
        },
      },
    },
    ...(retry && { retry }),
    ...(limits && { limits }),
  };
  const app = newApp({ config, fetch: transport === "fetch" ? fetch : undefined, pace });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const { port } = server.addr;
  const clients: TcpClient[] = [];
  const connect = async () => {
    const client = await TcpClient.connect(port);
    clients.push(client);
    return client;
  };
  try {
    await within(use({ app, url: `http://127.0.0.1:${port}`, server, upstream, connect }));
  } finally {
    app.abort();
    for (const client of clients) client.close();
    await upstream.stop();
    await server.shutdown();
    await app.close();
  }
}
