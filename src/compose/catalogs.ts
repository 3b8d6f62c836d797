/** The configured catalogs: their lists, where they locate a model, and the files of a model's tokenizer. */
import type { Config } from "../config/schema.ts";
import { secretAt, type SecretSource } from "../config/secrets.ts";
import type { Catalog } from "../contract/catalog.ts";
import type { Call, Reply } from "../contract/call.ts";
import { GatewayError } from "../errors.ts";
import { type AgeingCatalog, type CatalogCache, createCatalogCache } from "../lanes/catalog.ts";
import { createModelFinder, type ModelFinder } from "../lanes/finder.ts";
import { withCatalogTimeout } from "../lanes/catalog_timeout.ts";
import type { Transport } from "../platform/transport.ts";
import type { TokenizerFiles } from "../tokens/tokenizer_files.ts";
import { fetchFile } from "../upstream/file.ts";
import { splitBaseUrl } from "../util/urls_and_headers.ts";
import { secretPlaceOf } from "./upstreams.ts";
import { type Callee, readReply, send, type Upstream } from "../upstream/send.ts";

/** The longest list of models that is read, in bytes. Lists of hundreds of models have a twentieth of that. */
const LONGEST_LIST = 8 * 1024 * 1024;

/** How long the files of a tokenizer may take, in milliseconds. */
const DOWNLOAD_MS = 120_000;

/** The most pages of one list that are requested. */
const MOST_PAGES = 20;

/** A configured catalog. `finder`: present if the catalog can locate models. */
export interface Source {
  list: AgeingCatalog;
  finder?: ModelFinder;
  tokenizerFiles(model: string): Promise<TokenizerFiles>;
}

interface World extends SecretSource {
  transport: Transport;
  now(): number;
  signal: AbortSignal;
}

/** Creates the catalogs. They are called with their own secrets, if they have any, and never with a client's. */
export function createCatalogs(config: Config, catalogs: readonly Catalog[], world: World): Map<string, Source> {
  const { transport } = world;
  return new Map(
    Object.entries(config.catalogs).map(([name, { plugin, baseUrl, secret, filesFrom }]) => {
      const catalog = catalogs.find((candidate) => candidate.name === plugin);
      if (!catalog) throw new Error(`Cannot find catalog plugin "${plugin}" of catalog "${name}"`);
      const service = {
        name,
        ...splitBaseUrl(baseUrl),
        secretPlace: secretPlaceOf(secret),
        secret: secret && secretAt(secret, world),
        headers: {},
        resultsFrom: filesFrom,
        transport,
      };
      const ask = createAsk(service);
      const tokenizerFiles = async (model: string): Promise<TokenizerFiles> => {
        const calls = catalog.tokenizerFiles?.(model);
        if (!calls) throw new GatewayError("model_not_found", `Catalog "${name}" has no tokenizer for "${model}"`);
        const [vocabulary, settings, template] = await withCatalogTimeout(
          DOWNLOAD_MS,
          world.signal,
          (signal) =>
            Promise.all(
              [calls.vocabulary, calls.settings, calls.template].map((call) => fetchFile(call, service, signal)),
            ),
        );
        if (vocabulary) return { vocabulary, settings, template };
        const message = `Model "${model}" has no readable tokenizer`;
        throw new GatewayError("model_not_found", message, { upstreamStatus: 404 });
      };
      const finder = catalog.finder && createModelFinder({ finder: catalog.finder, ask, ...world });
      return [name, { list: createList(`Catalog "${name}"`, catalog, ask, world), finder, tokenizerFiles }];
    }),
  );
}

/** The catalogs' secrets that are in files, which may change without the configuration. */
export function catalogSecrets(
  { config: { catalogs }, ...source }: SecretSource & { config: Config },
): (string | undefined)[] {
  return Object.values(catalogs).map(({ secret }) => secret?.file === undefined ? undefined : secretAt(secret, source));
}

/**
 * The list of an upstream's own models. `undefined` if it has no such list. It is requested with the gateway's secret,
 * never with a caller's.
 */
export function createServerList(upstream: Upstream, world: Pick<World, "now" | "signal">): CatalogCache | undefined {
  const { name, driver, secret, takesTokens, baseUrl } = upstream;
  if (!driver.models || baseUrl === undefined) return undefined;
  const service = { ...upstream, secret: takesTokens ? undefined : secret };
  return createList(`Upstream "${name}"`, driver.models, createAsk({ ...service, baseUrl }), world);
}

type Ask = (call: Call, signal: AbortSignal) => Promise<Reply>;

function createAsk(service: Callee & { baseUrl: string }): Ask {
  return async (call, signal) => {
    const reply = await readReply(await send(call, service, signal), LONGEST_LIST);
    // A renamed model is answered with a redirect, which is followed on the same service only.
    const moved = reply.status >= 300 && reply.status < 400 &&
      pathBelow(service.baseUrl, reply.headers.get("location"));
    if (!moved) return reply;
    return await readReply(await send({ ...call, path: moved, url: undefined }, service, signal), LONGEST_LIST);
  };
}

function createList(who: string, catalog: Catalog, ask: Ask, world: Pick<World, "now" | "signal">): AgeingCatalog {
  const follow = async (first: Call, signal: AbortSignal) => {
    const replies: Reply[] = [];
    for (let call: Call | undefined = first; call && replies.length < MOST_PAGES;) {
      const reply = await ask(call, signal);
      if (reply.status >= 300) throw new GatewayError("unavailable", `${who} answered ${reply.status}`);
      replies.push(reply);
      call = catalog.next?.(reply);
    }
    return replies;
  };
  const load = async (signal: AbortSignal) => {
    const replies = await Promise.all(catalog.listing().map((call) => follow(call, signal)));
    return catalog.parseListing(replies.flat());
  };
  return createCatalogCache({ load, ...world });
}

/** The path of a location below a base URL. `undefined` if it is not below it. */
function pathBelow(baseUrl: string, location: string | null): string | undefined {
  const place = location === null ? null : URL.parse(location, `${baseUrl}/`);
  return place?.href.startsWith(`${baseUrl}/`) ? place.href.slice(baseUrl.length + 1) : undefined;
}
