/** The second pass over the configuration of the store. */
import { asObject, isJsonObject, type JsonObject } from "../canonical/json.ts";
import { missingProblems, namedSecret, PLACEHOLDER_SECRET, type SecretLookup } from "./secrets.ts";
import { kindsThat, type StoreKind, storeKind } from "./store_kinds.ts";

type Server = NonNullable<StoreKind["server"]>;
type Problems = Generator<{ path: string; message: string }, void>;

export function* storeProblems(config: Record<string, unknown>, lookup: SecretLookup): Problems {
  const store: JsonObject = asObject(config.store);
  const { server, isShared, isLasting } = storeKind(store.kind);
  if (server) yield* serverProblems(store, server, lookup);
  yield* replicaProblems(config, isShared, lookup);
  if (config.storedKeys !== true || isLasting) return;
  yield {
    path: "storedKeys",
    message: `Cannot use stored keys with a store of kind "${store.kind}": other processes create them`,
  };
}

function* replicaProblems(
  { replicas, sealing }: Record<string, unknown>,
  isShared: boolean,
  { env }: SecretLookup,
): Problems {
  if (typeof replicas !== "number" || replicas < 2 || isJsonObject(sealing) && sealing.key) return;
  if (isShared || env("DENO_DEPLOY")) return;
  yield {
    path: "replicas",
    message: `Several gateways need a common sealing key: use a store of kind ${
      kindsThat("isShared")
    }, or set "sealing.key"`,
  };
}

function* serverProblems({ url, sentinel, cluster }: JsonObject, server: Server, lookup: SecretLookup): Problems {
  const kind = sentinel ? "sentinel" : cluster === true ? "cluster" : "server";
  if (isJsonObject(url)) yield* urlProblems(url, kind, server, lookup);
  yield* missingProblems("store.sentinel.password", asObject(sentinel).password, lookup);
}

function* urlProblems(
  reference: JsonObject,
  kind: "server" | "sentinel" | "cluster",
  { read, example }: Server,
  lookup: SecretLookup,
): Problems {
  yield* missingProblems("store.url", reference, lookup);
  const { at, subject, value: url } = namedSecret(reference, lookup) ?? {};
  const path = `store.url${at}`;
  if (!url || url === PLACEHOLDER_SECRET) return;
  const address = read(url);
  if (!address) {
    yield { path, message: `${subject} must hold a URL such as ${example.url}` };
  } else if (kind === "server" && address.hosts.length > 1) {
    const cures = '"sentinel": { "name": "mymaster" } or "cluster": true';
    yield { path, message: `${subject} names several servers: set ${cures} beside it` };
  } else if (kind === "cluster" && address.database) {
    yield { path, message: `${subject} names a database, but a cluster has only database 0` };
  }
}
