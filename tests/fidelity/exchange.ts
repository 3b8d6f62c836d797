/** One request through the whole app, to an upstream that answers the same every time. */
import { requestOf } from "../../plugins/programs/fidelity/mod.ts";
import type { Client, UpstreamWire } from "../../plugins/programs/fidelity/sample.ts";
import { answerTo } from "../../plugins/programs/fidelity/upstreams.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Exchange, ExchangeOptions, Outcome } from "../../src/contract/fidelity.ts";
import { dryRun } from "../../src/pages/console/fidelity.ts";
import { type ConfigInput, newApp } from "../support/app.ts";

/** What upstreams speak, and of which make their model is, where the wire has models of its own. */
export const UPSTREAMS = ["chat", "messages", "responses", "vendor"] as const;
export type UpstreamKind = typeof UPSTREAMS[number];

export const WIRE_OF: Record<UpstreamKind, UpstreamWire> = {
  chat: "chat",
  messages: "messages",
  responses: "responses",
  vendor: "responses",
};

const upstream = (wire: UpstreamWire) => ({ driver: wire, baseUrl: `http://${wire}.test/v1`, fileIds: true });
const model = (name: UpstreamWire, model: string) => ({ task: "chat" as const, targets: [{ upstream: name, model }] });

const CONFIG: ConfigInput = {
  upstreams: { chat: upstream("chat"), messages: upstream("messages"), responses: upstream("responses") },
  lanes: {
    oss: {
      models: {
        chat: model("chat", "org/model"),
        messages: model("messages", "org/model"),
        responses: model("responses", "org/model"),
        vendor: model("responses", "gpt-5.2"),
      },
    },
  },
};

const exchanges = new Map<string, Promise<Outcome>>();

/** Sends to the model of that upstream. The same is sent once: most samples are compared with the same plain request. */
export function exchangeWith(to: UpstreamKind): Exchange {
  return (client, body, options = {}) => exchange(client as Client, to, body, options);
}

export function exchange(
  client: Client,
  to: UpstreamKind,
  body: JsonObject,
  { headers, before, answer }: ExchangeOptions = {},
): Promise<Outcome> {
  const key = JSON.stringify([client, to, body, headers, before, answer]);
  const place = { lane: "oss", model: to };
  const made = exchanges.get(key) ?? dryRun(requestOf(client, place, body), {
    client,
    headers,
    before: before && requestOf(client, place, before),
    answerTo: (asked) => answer ?? answerTo(WIRE_OF[to], asked),
    startDryRun: ({ fetch, store, log }) => {
      const app = newApp({ config: CONFIG, fetch, store });
      return { ...app, settled: () => app.settled().then(() => app.logs.slice(-1).forEach(log)) };
    },
  });
  exchanges.set(key, made);
  return made;
}
