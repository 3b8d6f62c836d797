/** The second pass over what the configuration says of the store. */
import { isJsonObject, type JsonObject } from "../canonical/json.ts";
import { isVariableName } from "./fields.ts";
import { parseRedisUrl } from "./redis_url.ts";
import { PLACEHOLDER_SECRET } from "./secrets.ts";

export function* storeProblems(
  { store, storedKeys, sealing, replicas }: Record<string, unknown>,
  env: (name: string) => string | undefined,
): Generator<{ path: string; message: string }, void> {
  const { kind, url }: JsonObject = isJsonObject(store) ? store : {};
  if (kind === "redis" && isJsonObject(url)) yield* urlProblems(url.env, env);
  const isShared = kind === "redis" || Boolean(env("DENO_DEPLOY"));
  if (typeof replicas === "number" && replicas > 1 && !isShared && !(isJsonObject(sealing) && sealing.key)) {
    yield {
      path: "replicas",
      message:
        'Cannot seal for several gateways without a common key: use a store of kind "redis", or set "sealing.key"',
    };
  }
  if (storedKeys !== true || kind !== "memory") return;
  yield {
    path: "storedKeys",
    message: 'Cannot use stored keys with a store of kind "memory": other processes create them',
  };
}

function* urlProblems(variable: unknown, env: (name: string) => string | undefined) {
  if (typeof variable !== "string" || !isVariableName(variable)) return;
  const path = "store.url.env";
  const url = env(variable);
  if (!url) {
    yield { path, message: `Environment variable "${variable}" is not set: export ${variable}=...` };
  } else if (url !== PLACEHOLDER_SECRET && !parseRedisUrl(url)) {
    const form = "redis://user:password@store.example.com:6379/0";
    yield { path, message: `Environment variable "${variable}" must hold a URL such as ${form}` };
  }
}
