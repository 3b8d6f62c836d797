/** The vendor's SDK in both of its majors, in front of an app in this process. */
import Anthropic from "anthropic-sdk";
// One table serves both, so the older one is read with the newer one's types.
// @ts-types="anthropic-sdk"
import Anthropic0 from "anthropic-sdk-0";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import type { FakeUpstream } from "../support/fake_upstream.ts";

export type { Anthropic };

/** The newest SDK is first. */
export const MAJORS = [{ major: 1, Sdk: Anthropic }, { major: 0, Sdk: Anthropic0 }] as const;
export type Major = (typeof MAJORS)[number];

/** A model of the sandbox whose id has the vendor's prefix, and one whose id has a slash. */
export const SDK_CONFIG = {
  ...CONFIG,
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }],
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        "claude-sandbox": {
          task: "chat",
          displayName: "Sandbox",
          contextLength: 32_768,
          maxOutputTokens: 4_096,
          targets: [{ upstream: "sandbox", model: "sandbox" }],
        },
        "anthropic/sandbox": { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
        "embedder": { task: "embedding", targets: [{ upstream: "fake", model: "org/embedder" }] },
      },
    },
  },
} satisfies ConfigInput;

/** What one test works with. */
export interface Setting<U> {
  client: Anthropic;
  app: TestApp;
  /** What the upstream `fake` is. */
  upstream: U;
  /** The requests that the SDK made. */
  calls: Request[];
  newClient(credentials: { apiKey: string | null; authToken?: string | null }): Anthropic;
}

/** Registers a test for each major, each with an app and an upstream of its own. */
export function forEachMajor<U extends FakeUpstream = FakeUpstream>(
  name: string,
  use: (setting: Setting<U>, major: Major) => Promise<void>,
  newUpstream: () => U,
): void {
  for (const major of MAJORS) {
    Deno.test(`messages SDK ${major.major}: ${name}`, async () => {
      const upstream = newUpstream();
      const app = newApp({ config: SDK_CONFIG, fetch: upstream.fetch });
      const calls: Request[] = [];
      const newClient: Setting<U>["newClient"] = (credentials) =>
        new major.Sdk({
          ...credentials,
          baseURL: "http://gateway/oss",
          maxRetries: 0,
          async fetch(input, init) {
            const request = new Request(input, init);
            calls.push(request.clone());
            const response = await app.fetch(request);
            // Over a network an abort ends the body too.
            const body = response.body?.pipeThrough(new TransformStream(), { signal: request.signal });
            return new Response(body, response);
          },
        });
      await use({ client: newClient({ apiKey: ENV.TEAM_KEY! }), app, upstream, calls, newClient }, major);
    });
  }
}
