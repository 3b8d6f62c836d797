/** How servers of models show what they are. */
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { ProbeReply, ServerKind } from "../../src/contract/probing.ts";

/** The body where the request was understood. */
function objectIn({ status, body }: ProbeReply): JsonObject | undefined {
  return status === 200 && isJsonObject(body) ? body : undefined;
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The servers whose list of models says whose it is. */
function ownedBy(title: string, owner: RegExp): ServerKind {
  return {
    title,
    recognize(reply) {
      const { data } = objectIn(reply) ?? {};
      const owners = Array.isArray(data) ? data.flatMap((one) => isJsonObject(one) ? one.owned_by ?? [] : []) : [];
      return owners.some((one) => owner.test(String(one))) ? {} : undefined;
    },
  };
}

/** In this order: what comes later answers for what comes first, too. */
export const serverKinds: readonly ServerKind[] = [
  {
    title: "SGLang",
    path: "../get_server_info",
    recognize(reply) {
      const info = objectIn(reply);
      return info && ("tp_size" in info || "internal_states" in info) ? { version: textIn(info.version) } : undefined;
    },
  },
  {
    title: "llama.cpp",
    path: "../props",
    recognize(reply) {
      const info = objectIn(reply);
      const isIts = info !== undefined && "default_generation_settings" in info;
      return isIts ? { version: textIn(info.build_info) } : undefined;
    },
  },
  {
    title: "LM Studio",
    path: "../api/v0/models",
    recognize: (reply) => Array.isArray(objectIn(reply)?.data) ? {} : undefined,
  },
  {
    title: "Ollama",
    path: "../api/version",
    recognize(reply) {
      const version = textIn(objectIn(reply)?.version);
      return version === undefined ? undefined : { version };
    },
  },
  {
    title: "TGI or TEI",
    path: "../info",
    recognize(reply) {
      const info = objectIn(reply);
      const isIts = info !== undefined && "model_id" in info && "version" in info;
      return isIts ? { version: textIn(info.version) } : undefined;
    },
  },
  {
    title: "LiteLLM",
    path: "../health/readiness",
    recognize(reply) {
      const version = textIn(objectIn(reply)?.litellm_version);
      return version === undefined ? undefined : { version };
    },
  },
  {
    title: "vLLM",
    path: "../version",
    recognize(reply) {
      const version = textIn(objectIn(reply)?.version);
      return version === undefined ? undefined : { version };
    },
  },
  ownedBy("vLLM", /^vllm$/),
  ownedBy("llama.cpp", /^llama\.?cpp$/i),
  ownedBy("LM Studio", /^organization_owner$/),
  {
    title: "OpenRouter",
    recognize(reply) {
      const { data } = objectIn(reply) ?? {};
      const [first] = Array.isArray(data) ? data : [];
      return isJsonObject(first) && "top_provider" in first && "pricing" in first ? {} : undefined;
    },
  },
];
