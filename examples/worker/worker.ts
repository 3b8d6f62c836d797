// deno-lint-ignore-file no-import-prefix -- only a Worker needs these packages, so the gateway's deno.json does not name them
/**
 * The gateway in a Worker. A Durable Object holds it, because its requests share timers and signals, which those of a plain Worker
 * may not. README.md says how to build and deploy it.
 */
import { gcm } from "npm:@noble/ciphers@2.4.0/aes.js";
import { hkdf } from "npm:@noble/hashes@2.4.0/hkdf.js";
import { sha256 } from "npm:@noble/hashes@2.4.0/sha2.js";
import { type App, createApp, parseConfig } from "@laneway/gateway";
import { untilLeft, webPlatform } from "@laneway/gateway/web";

const CONFIG = {
  keys: [{ name: "me", secret: { env: "LANEWAY_KEY" } }],
  lanes: {
    oss: { models: { "gpt-oss-120b": { task: "chat", targets: [{ upstream: "hub", model: "openai/gpt-oss-120b" }] } } },
  },
  store: { kind: "memory" },
};

type Variables = Readonly<Record<"LANEWAY_KEY" | "HF_TOKEN" | "UPSTREAM_URL", string>>;

const platform = webPlatform({ sha256, gcm, hkdf: (...rest) => hkdf(sha256, ...rest) });

/** One gateway with a store in memory, which ends when the host stops the object. */
export class Gateway {
  readonly #app: App;

  constructor(_state: unknown, variables: Variables) {
    const env = (name: string) => variables[name as keyof Variables];
    const hub = { driver: "chat", baseUrl: variables.UPSTREAM_URL, secret: { env: "HF_TOKEN" } };
    const config = parseConfig({ ...CONFIG, upstreams: { hub } }, { platform, env });
    this.#app = createApp({ config, platform, env });
  }

  async fetch(request: Request): Promise<Response> {
    // The host's own header: clients cannot set it.
    const hostname = request.headers.get("cf-connecting-ip") ?? undefined;
    return untilLeft(await this.#app.fetch(request, { remoteAddr: { transport: "tcp", hostname } }), request);
  }
}

interface Bindings extends Variables {
  GATEWAY: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

export default {
  fetch: (request: Request, { GATEWAY }: Bindings): Promise<Response> => GATEWAY.getByName("gateway").fetch(request),
};
