/** The second pass over what the configuration says of the store. */
import { asObject, isJsonObject, type JsonObject } from "../canonical/json.ts";
import { isVariableName } from "./fields.ts";
import { PLACEHOLDER_SECRET } from "./secrets.ts";
import { kindsThat, type StoreKind, storeKind } from "./store_kinds.ts";

type Env = (name: string) => string | undefined;
type Server = NonNullable<StoreKind["server"]>;
type Problems = Generator<{ path: string; message: string }, void>;

export function* storeProblems(config: Record<string, unknown>, env: Env): Problems {
  const store: JsonObject = asObject(config.store);
  const { server, isShared, isLasting } = storeKind(store.kind);
  if (server) yield* serverProblems(store, server, env);
  yield* replicaProblems(config, isShared, env);
  if (config.storedKeys !== true || isLasting) return;
  yield {
    path: "storedKeys",
    message: `Cannot use stored keys with a store of kind "${store.kind}": other processes create them`,
  };
}

function* replicaProblems({ replicas, sealing }: Record<string, unknown>, isShared: boolean, env: Env): Problems {
  if (typeof replicas !== "number" || replicas < 2 || isJsonObject(sealing) && sealing.key) return;
  if (isShared || env("DENO_DEPLOY")) return;
  yield {
    path: "replicas",
    message: `Several gateways need a common sealing key: use a store of kind ${
      kindsThat("isShared")
    }, or set "sealing.key"`,
  };
}

function* serverProblems({ url, sentinel, cluster }: JsonObject, server: Server, env: Env): Problems {
  const kind = sentinel ? "sentinel" : cluster === true ? "cluster" : "server";
  if (isJsonObject(url)) yield* urlProblems(url.env, kind, server, env);
  if (isJsonObject(sentinel) && isJsonObject(sentinel.password)) {
    yield* unsetProblems("store.sentinel.password.env", sentinel.password.env, env);
  }
}

function* unsetProblems(path: string, variable: unknown, env: Env): Problems {
  if (typeof variable !== "string" || !isVariableName(variable) || env(variable)) return;
  yield { path, message: `Environment variable "${variable}" is not set: export ${variable}=...` };
}

function* urlProblems(
  variable: unknown,
  kind: "server" | "sentinel" | "cluster",
  { read, example }: Server,
  env: Env,
): Problems {
  const path = "store.url.env";
  yield* unsetProblems(path, variable, env);
  const url = typeof variable === "string" && isVariableName(variable) ? env(variable) : undefined;
  if (!url || url === PLACEHOLDER_SECRET) return;
  const address = read(url);
  if (!address) {
    yield { path, message: `Environment variable "${variable}" must hold a URL such as ${example.url}` };
  } else if (kind === "server" && address.hosts.length > 1) {
    const cures = '"sentinel": { "name": "mymaster" } or "cluster": true';
    yield { path, message: `Environment variable "${variable}" names several servers: set ${cures} beside it` };
  } else if (kind === "cluster" && address.database) {
    yield { path, message: `Environment variable "${variable}" names a database, but a cluster has only database 0` };
  }
}
