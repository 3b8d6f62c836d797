import type { Pace } from "../../src/handle.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
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
  timeouts?: { headMs?: number; firstEventMs?: number; idleMs?: number; totalMs?: number };
  pace?: Pace;
}

/** Calls `use` with a gateway that listens on a port of its own before an upstream that does, and ends both. */
export async function withGateway(
  use: (setting: Setting) => Promise<void>,
  { timeouts = {}, pace }: SettingOptions = {},
): Promise<void> {
  const upstream = new TcpUpstream();
  const config: ConfigInput = {
    upstreams: {
      tcp: { driver: "chat", baseUrl: upstream.baseUrl, secret: { env: "UPSTREAM_SECRET" }, timeouts },
      sandbox: { driver: "sandbox" },
    },
    lanes: {
      oss: {
        models: {
          model: { task: "chat", targets: [{ upstream: "tcp", model: "org/model" }] },
          sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
        },
      },
    },
  };
  const app = newApp({ config, fetch, pace });
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
    await within(20_000, use({ app, url: `http://127.0.0.1:${port}`, server, upstream, connect }));
  } finally {
    for (const client of clients) client.close();
    await upstream.stop();
    await server.shutdown();
  }
}

/** Fails where the promise takes longer: a test that hangs tells nothing. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`It took longer than ${ms} ms`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until `condition` holds; fails after 10 s. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("It did not come to pass in 10 s");
    await delay(5);
  }
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A chunk of the chat wire, as a frame. */
export function frame(choice: object): string {
  return `data: ${JSON.stringify({ model: "org/model", choices: [{ index: 0, ...choice }] })}\n\n`;
}

/** A word of the answer, as a frame. */
export function word(content: string): string {
  return frame({ delta: { role: "assistant", content } });
}

/** The end of an answer, as frames. */
export const ENDING = `${frame({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`;

/** A whole answer of the chat wire. */
export const ANSWER = {
  id: "chatcmpl-upstream",
  object: "chat.completion",
  created: 1,
  model: "org/model",
  choices: [{ index: 0, message: { role: "assistant", content: "whole" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
};
