/**
 * Counts tokens with a model's own chat template and vocabulary, in a separate thread. A large vocabulary takes a second to load
 * and uses a hundred megabytes. The worker receives everything in messages and accesses nothing else.
 */
import { Script } from "node:vm";
import { Template } from "jinja";
import { Tokenizer } from "tokenizers";
import { asObjects, isJsonObject, type JsonObject } from "../canonical/json.ts";
import type { Prompt } from "../contract/driver.ts";
import type { TokenizerFiles } from "./tokenizer_files.ts";

/**
 * A job with its time limit `ms` in milliseconds. A prompt is sent as JSON, because not every number can be cloned
 * (`raw_number.ts`).
 */
export type Job =
  | { type: "load"; id: number; ms: number; model: string; files: TokenizerFiles }
  | { type: "count"; id: number; ms: number; model: string; prompt: string }
  | { type: "drop"; model: string };

/** The result of a job. Jobs are done in order. The first result, with id 0, reports that the worker has started. */
export interface Done {
  id: number;
  tokens?: number;
  error?: string;
  /** Whether the time limit was exceeded. The model has then been unloaded. */
  isOverdue?: true;
}

interface Loaded {
  tokenizer: Tokenizer;
  template?: Template;
  /** The begin and end texts of prompts, by the names that templates use for them. */
  marks: JsonObject;
}

const port = self as unknown as { postMessage(done: Done): void; onmessage: (event: MessageEvent<Job>) => void };
const models = new Map<string, Loaded>();

port.onmessage = ({ data: job }) => {
  if (job.type === "drop") {
    models.delete(job.model);
    return;
  }
  try {
    port.postMessage({ id: job.id, ...within(job.ms, () => run(job)) });
  } catch (thrown) {
    const isOverdue = thrown instanceof Error && "code" in thrown && thrown.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    if (isOverdue) models.delete(job.model);
    port.postMessage({ id: job.id, error: String(thrown), ...(isOverdue && { isOverdue }) });
  }
};

port.postMessage({ id: 0 });

function run(job: Exclude<Job, { type: "drop" }>): { tokens?: number } {
  if (job.type === "load") {
    models.set(job.model, load(job.files));
    return {};
  }
  const model = models.get(job.model);
  if (!model) throw new Error(`Model "${job.model}" is not loaded`);
  return { tokens: count(model, JSON.parse(job.prompt)) };
}

const scope = globalThis as { work?: () => unknown };
const script = new Script("work()");

/**
 * Ends work that exceeds its time limit. In Deno 2.9.6 `terminate` does not help, because it leaves a busy worker running for
 * ever.
 */
function within<T>(ms: number, work: () => T): T {
  scope.work = work;
  try {
    return script.runInThisContext({ timeout: ms });
  } finally {
    scope.work = undefined;
  }
}

function load({ vocabulary, settings, template }: TokenizerFiles): Loaded {
  const config = settings ? parse(settings) : {};
  const source = template ? new TextDecoder().decode(template) : templateIn(config);
  return {
    tokenizer: new Tokenizer(parse(vocabulary), config),
    ...(source !== undefined && { template: tryTemplate(source) }),
    marks: Object.fromEntries(
      Object.entries(config).filter(([name]) => name.endsWith("_token")).map(([name, mark]) => [name, markText(mark)]),
    ),
  };
}

function parse(bytes: Uint8Array): JsonObject {
  const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!isJsonObject(parsed)) throw new Error("The file is not an object");
  return parsed;
}

/** Older repositories have the template, or several named ones, in the settings. */
function templateIn({ chat_template: given }: JsonObject): string | undefined {
  if (typeof given === "string") return given;
  const named = asObjects(given);
  const chosen = named.find(({ name }) => name === "tool_use") ?? named.find(({ name }) => name === "default");
  return typeof chosen?.template === "string" ? chosen.template : undefined;
}

function tryTemplate(source: string): Template | undefined {
  try {
    return new Template(source);
  } catch {
    return undefined; // an unsupported construct: only the texts are counted
  }
}

/** A mark is a text or an object that contains one. */
function markText(mark: JsonObject[string]): string | undefined {
  const text = isJsonObject(mark) ? mark.content : mark;
  return typeof text === "string" ? text : undefined;
}

function count({ tokenizer, template, marks }: Loaded, prompt: Prompt): number {
  const text = (template && tryRender(template, marks, prompt)) ?? renderPlain(prompt);
  return tokenizer.encode(text, { add_special_tokens: false }).ids.length;
}

/** A template may reject a conversation that its upstream would still accept. */
function tryRender(template: Template, marks: JsonObject, { variables, ...prompt }: Prompt): string | undefined {
  try {
    return template.render({ ...marks, ...prompt, add_generation_prompt: true, ...variables });
  } catch {
    return undefined;
  }
}

/** Everything that the model would read, with some text around each turn, like that of a template. */
function renderPlain({ messages, tools = [] }: Prompt): string {
  const turns = messages.map(({ role, content, tool_calls, reasoning_content }) =>
    ["###", role, reasoning_content, content, tool_calls && JSON.stringify(tool_calls), "###"].filter(Boolean).join(
      "\n",
    )
  );
  return [...tools.map((tool) => JSON.stringify(tool)), ...turns].join("\n");
}
