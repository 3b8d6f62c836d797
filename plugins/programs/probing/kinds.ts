/** How to recognize the kinds of model servers. */
import { asList, isJsonObject, isText, type JsonObject } from "../../../src/canonical/json.ts";
import type { ProbeReply, ProbeSettings, ServerKind } from "../../../src/contract/probing.ts";

/** The body where the request was understood. */
function objectIn({ status, body }: ProbeReply): JsonObject | undefined {
  return status === 200 && isJsonObject(body) ? body : undefined;
}

function textIn(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
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

/** The servers whose description of their own interface has this title. */
function described(title: string, isTitle: RegExp, path = "../openapi.json"): ServerKind {
  return {
    title,
    path,
    recognize({ status, text }) {
      // Not parsed as JSON, because some are longer than the part of an answer that is read.
      const [, info = ""] = /"info":\s*(\{.*?"version":\s*"[^"]*")/s.exec(text.slice(0, 20_000)) ?? [];
      const [, found = ""] = /"title":\s*"([^"]*)"/.exec(info) ?? [];
      const version = /"version":\s*"([^"]*)"$/.exec(info)?.[1];
      return status === 200 && isTitle.test(found) ? { version } : undefined;
    },
  };
}

/** How servers that render chat templates themselves are asked to think, where no answer of the model shows it. */
const BY_TEMPLATE: ProbeSettings = {
  dialect: { value: "template", because: "it passes chat_template_kwargs on to the model's chat template" },
};

/** In this order: what comes later answers for what comes first, too. */
export const serverKinds: readonly ServerKind[] = [
  described("Laneway", /^Laneway$/, "../../openapi.json"),
  {
    title: "SGLang",
    path: "../get_server_info",
    recognize(reply) {
      const info = objectIn(reply);
      return info && ("tp_size" in info || "internal_states" in info) ? { version: textIn(info.version) } : undefined;
    },
    settings: BY_TEMPLATE,
  },
  {
    title: "llama.cpp",
    path: "../props",
    recognize(reply) {
      const info = objectIn(reply);
      const isIts = info !== undefined && "default_generation_settings" in info;
      return isIts ? { version: textIn(info.build_info) } : undefined;
    },
    settings: BY_TEMPLATE,
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
    title: "Text Embeddings Inference",
    path: "../info",
    driver: "tei",
    recognize(reply) {
      const info = objectIn(reply);
      const isIts = info !== undefined && "model_type" in info && "version" in info;
      return isIts ? { version: textIn(info.version), model: textIn(info.model_id) } : undefined;
    },
  },
  {
    title: "TGI",
    path: "../info",
    recognize(reply) {
      const info = objectIn(reply);
      const isIts = info !== undefined && "model_id" in info && "version" in info;
      return isIts ? { version: textIn(info.version), model: textIn(info.model_id) } : undefined;
    },
  },
  described("LiteLLM", /^LiteLLM API$/),
  described("llama-cpp-python", /llama\.cpp Python API/),
  described("Infinity", /\bInfinity\b/),
  {
    title: "transformers serve",
    path: "../openapi.json",
    recognize({ status, text }) {
      return status === 200 && text.includes('"/load_model"') && text.includes('"/v1/chat/completions"')
        ? {}
        : undefined;
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
    settings: BY_TEMPLATE,
  },
  ownedBy("vLLM", /^vllm$/),
  ownedBy("llama.cpp", /^llama\.?cpp$/i),
  ownedBy("LM Studio", /^organization_owner$/),
  {
    title: "OpenRouter",
    recognize(reply) {
      const { data } = objectIn(reply) ?? {};
      const [first] = asList(data);
      return isJsonObject(first) && "top_provider" in first && "pricing" in first ? {} : undefined;
    },
    settings: {
      dialect: { value: "reasoning-object", because: "it reads effort levels, on and off from the field reasoning" },
      cacheControl: { value: "pass", because: "some of its providers cache prompts only on request" },
    },
  },
];
