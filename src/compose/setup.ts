/** The facts about a configuration for the console's guide. */
import { isPattern } from "../canonical/models.ts";
import { upstreamsWithoutSecret } from "../config/secrets.ts";
import { bestRank, rankUpstreams } from "../lanes/lane.ts";
import type { Provider } from "../contract/provider.ts";
import type { SetupFacts, SetupProvider } from "../context/setup.ts";
import { pluginFacts } from "./plugins.ts";
import type { World } from "./world.ts";

export function setupFactsOf(world: World): SetupFacts {
  const { config: { upstreams, lanes }, plugins: { providers, hub } } = world;
  return {
    upstreams() {
      const lacking = reasonsOf(world);
      return Object.entries(upstreams).map(([name, { driver, provider }]) => {
        const reason = lacking.get(name);
        const title = provider === undefined ? driver : providers[provider]?.title ?? provider;
        return { name, title, ...(reason === undefined ? { state: "ready" } : { state: "no-secret", reason }) };
      });
    },
    models() {
      const lacking = reasonsOf(world);
      const rankOf = rankUpstreams(upstreams, new Set(lacking.keys()));
      const listed = Object.entries(lanes).flatMap(([lane, { models }]) =>
        Object.entries(models).filter(([name]) => !isPattern(name)).map(([name, alias]) => ({ lane, name, ...alias }))
      );
      const inOrder = listed.toSorted((one, other) => bestRank(one, rankOf) - bestRank(other, rankOf));
      return inOrder.map(({ lane, name, task, price: own, targets: all }) => {
        const targets = all.map(({ upstream, model, price = own }) => ({ upstream, model, price }));
        const names = targets.map(({ upstream }) => upstream);
        const works = names.some((upstream) => !lacking.has(upstream));
        const isBuiltIn = names.every((upstream) => upstreams[upstream]?.baseUrl === undefined);
        return { lane, name, task, targets, works, isBuiltIn, ...!works && { reason: lacking.get(names[0]!)! } };
      });
    },
    hub,
    drivers: () =>
      Object.entries(pluginFacts(world.plugins).drivers).map(([name, { tasks, needsBaseUrl }]) => ({
        name,
        tasks,
        needsBaseUrl,
      })),
    providers: () => Object.entries(providers).map(([id, provider]) => choiceOf(id, provider)),
  };
}

/** The remedy for each upstream that has no secret. */
function reasonsOf({ config, env, readText }: World): Map<string, string | undefined> {
  return new Map(
    upstreamsWithoutSecret(config, { env, readText }).map(({ upstream, variable, file }) => [
      upstream,
      file === undefined
        ? `Upstream "${upstream}" has no secret: set ${variable} and restart`
        : `Upstream "${upstream}" has no secret: write it to ${file}`,
    ]),
  );
}

function choiceOf(id: string, { title, keysAt, drivers }: Provider): SetupProvider {
  const { baseUrl, baseUrlForm: form } = Object.values(drivers)[0]!;
  return { id, title, keysAt, needsBaseUrl: baseUrl === undefined, form };
}
