import type { Effort } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { ModelInfo } from "../../src/canonical/models.ts";
import { AGENT_INSTRUCTIONS } from "./instructions.ts";

/**
 * The list in two shapes at once: the plain one that every client reads, and below `models` the one that Codex takes for its
 * catalog, live or from a file. Codex refuses a catalog whole over one missing key.
 */
export function serializeModels(models: readonly ModelInfo[]): JsonObject {
  const agents = models.filter(({ task, supportsTools }) => task === "chat" && supportsTools !== false);
  return {
    object: "list",
    data: models.map(({ id, task, created, ownedBy }) => ({ id, object: "model", created, owned_by: ownedBy, task })),
    models: agents.map(serializeAgentModel),
  };
}

const DESCRIPTION_OF: Record<Exclude<Effort, "max">, string> = {
  none: "No reasoning",
  minimal: "As little reasoning as can be",
  low: "Little reasoning, fast answers",
  medium: "A balance of speed and depth",
  high: "Deep reasoning for hard problems",
  xhigh: "As deep as the model goes",
};

/** Beyond this many tokens Codex cuts what a tool printed. */
const LONGEST_OUTPUT = 10_000;

function serializeAgentModel(model: ModelInfo, priority: number): JsonObject {
  const { id, displayName, ownedBy, contextLength, inputModalities, efforts = [] } = model;
  const levels = new Set(efforts.map((effort) => effort === "max" ? "xhigh" : effort));
  const modalities = (inputModalities ?? ["text"]).filter((one) =>
    one === "text" || one === "image" || one === "audio"
  );
  return {
    slug: id,
    display_name: displayName ?? id,
    description: `By ${ownedBy}`,
    // Versions before 0.140 end at once over a level that they do not know; the gateway takes the nearest.
    supported_reasoning_levels: [...levels].map((effort) => ({ effort, description: DESCRIPTION_OF[effort] })),
    shell_type: "unified_exec",
    // Names that are there for agents of another wire, which show no others, say nothing new here.
    visibility: /^(claude|anthropic)/i.test(id) ? "hide" : "list",
    supported_in_api: true,
    priority,
    base_instructions: AGENT_INSTRUCTIONS,
    // Codex shows nothing of what a model thinks but its summary.
    default_reasoning_summary: "auto",
    support_verbosity: false,
    apply_patch_tool_type: "freeform",
    truncation_policy: { mode: "tokens", limit: LONGEST_OUTPUT },
    ...(contextLength !== undefined && { context_window: contextLength, max_context_window: contextLength }),
    input_modalities: modalities,
    experimental_supported_tools: [],
    // Keys of earlier versions.
    supports_reasoning_summaries: true,
    supports_parallel_tool_calls: true,
  };
}
