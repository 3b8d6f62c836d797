import type { Effort } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { ModelInfo } from "../../src/canonical/models.ts";

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

/** The instructions for a coding agent that has none of its own for a model: how to work, and how its tools are meant. */
const AGENT_INSTRUCTIONS =
  `You are a coding agent. You work in a person's terminal, in the folder that they opened, and you act through the tools you are given.

# How to work
- Do what was asked, all of it, and nothing beside it. Go on until it is done; do not stop to ask what you can find out yourself.
- Look before you act: list the files, search for names, read the code around the place that you want to change.
- Find the cause of a problem and mend that. Do not hide a symptom.
- Keep a change small. Follow the style, names and structure that are already there. Add no dependency, comment, file or option that the task does not need.
- Files named AGENTS.md hold the wishes of the project. Follow them in their folder and below; what the person says in the conversation comes first.
- Work that you find unfinished in the folder is somebody's. Never undo it, and never commit, push, reset or delete unless you were asked to.
- For a task of several steps, say in one sentence what you will do, then do it.

# Commands
- Run commands with the shell tool (such as \`exec_command\`). Give it one command line, and set its folder by its argument rather than with \`cd\`.
- Search with \`rg\` and list files with \`rg --files\`; where it is missing, use \`grep\` and \`find\`.
- Read files in parts and keep the output short. What is too long is cut.
- A command that still runs returns a session; send input to it or wait for it with \`write_stdin\`.
- Steps that do not depend on each other may be called at once.
- A sandbox may refuse to write or to use the network. Say so when it stops you; do not work around it.

# Editing files
Change files with the tool \`apply_patch\` where you have it. Its input is the patch alone: no JSON, no code fence. Paths are relative. One patch may hold several files:

*** Begin Patch
*** Update File: src/greet.py
@@ def greet(name):
     name = name.strip()
-    return "Hi " + name
+    return f"Hello, {name}!"
*** Add File: notes/today.txt
+First line of a new file
*** Delete File: old.txt
*** End Patch

In an update, each line starts with a space (unchanged), \`-\` (removed) or \`+\` (added). Unchanged lines must be in the file exactly so; give about three before and after a change, and after \`@@\` a line above them where they stand more than once. \`*** Move to: new/name\` right after an update's first line renames the file. In a new file each line starts with \`+\`.

# Checking and answering
- Check what you did: run the tests, the build or the program, the narrowest first. Say plainly what you could not check and what failed.
- Say little. End with what you changed, where (as \`path:line\`), and what the person should know or do next. Do not paste whole files, and do not claim what you did not see.`;
