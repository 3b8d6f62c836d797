import { type JsonObject, present } from "../../src/canonical/json.ts";
import type { ModelInfo, Task } from "../../src/canonical/models.ts";
import { digestOf } from "../../src/util/digest.ts";
import { timestamp } from "./wire.ts";

/** The prefix of the fields of `model_info`. The real architecture is unknown behind a gateway. */
const ARCHITECTURE = "gateway";

export function serializeTags(models: readonly ModelInfo[]): JsonObject {
  return { models: models.map((model) => ({ ...entryOf(model), modified_at: timestamp(model.created) })) };
}

/** No model is ever unloaded, so each expires at a time that no client waits for. */
export function serializeRunning(models: readonly ModelInfo[]): JsonObject {
  const state = { expires_at: "9999-12-31T23:59:59Z", size_vram: 0 };
  return {
    models: models.map((model) => ({ ...entryOf(model), ...state, ...present("context_length", model.contextLength) })),
  };
}

/** Strict clients require every field, even those that only a server with the model's files can know. */
function entryOf(model: ModelInfo): JsonObject {
  return { name: model.id, model: model.id, size: 0, digest: digestOf(model.id), details: detailsOf(model) };
}

export function serializeModel(model: ModelInfo): JsonObject {
  const { id, created, contextLength } = model;
  return {
    details: detailsOf(model),
    model_info: {
      "general.architecture": ARCHITECTURE,
      "general.basename": id,
      ...(contextLength !== undefined && { [`${ARCHITECTURE}.context_length`]: contextLength }),
    },
    capabilities: capabilitiesOf(model),
    modified_at: timestamp(created),
  };
}

function detailsOf({ ownedBy }: ModelInfo): JsonObject {
  return {
    parent_model: "",
    format: "",
    family: ownedBy,
    families: [ownedBy],
    parameter_size: "",
    quantization_level: "",
  };
}

const CAPABILITY_OF: Record<Task, string | undefined> = {
  chat: "completion",
  embedding: "embedding",
  rerank: undefined,
  speech: undefined,
  transcription: undefined,
  image: "image",
};

/** `insert`: the model takes a suffix. Agents accept only models with tools, so a chat model has them unless the upstream says otherwise. */
function capabilitiesOf({ task, supportsTools, fillsGaps, inputModalities = [], efforts = [] }: ModelInfo): string[] {
  const isChat = task === "chat";
  return [
    CAPABILITY_OF[task],
    isChat && supportsTools !== false && "tools",
    isChat && fillsGaps && "insert",
    isChat && inputModalities.includes("image") && "vision",
    isChat && inputModalities.includes("audio") && "audio",
    isChat && efforts.length > 0 && "thinking",
  ].filter((one) => typeof one === "string");
}
