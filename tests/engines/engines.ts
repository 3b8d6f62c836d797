/** The real engines that the suites of this folder talk to: each where its variable says, and skipped where it says nothing. */
import type { Wire } from "../regressions/support.ts";

export interface Engine {
  name: string;
  /** Which names its address, such as `http://127.0.0.1:8000/v1`. */
  variable: string;
  /** The conversational wires that it speaks. */
  wires: readonly Wire[];
  /** Whether it can be made to call a tool that is named. */
  forces: boolean;
}

/** They all serve the tiny model whose scripts a `#word` of the user's chooses; a proxy serves another engine's. */
export const ENGINES: readonly Engine[] = [
  {
    name: "llama-server",
    variable: "LANEWAY_ENGINE_LLAMA_SERVER",
    wires: ["chat", "messages", "responses"],
    forces: false,
  },
  { name: "vLLM", variable: "LANEWAY_ENGINE_VLLM", wires: ["chat", "messages", "responses"], forces: false },
  { name: "transformers", variable: "LANEWAY_ENGINE_TRANSFORMERS", wires: ["chat", "responses"], forces: false },
  { name: "llama-cpp-python", variable: "LANEWAY_ENGINE_LLAMA_CPP_PYTHON", wires: ["chat"], forces: true },
  { name: "litellm", variable: "LANEWAY_ENGINE_LITELLM", wires: ["chat", "messages", "responses"], forces: false },
];

/** What the engines call the model that talks, the one that makes vectors, the one that ranks and the one that listens. */
export const MODELS = {
  chat: Deno.env.get("LANEWAY_ENGINE_MODEL") ?? "tiny-chat",
  embed: Deno.env.get("LANEWAY_ENGINE_EMBED_MODEL") ?? "tiny-embed",
  rerank: Deno.env.get("LANEWAY_ENGINE_RERANK_MODEL") ?? "tiny-rerank",
  transcribe: Deno.env.get("LANEWAY_ENGINE_TRANSCRIBE_MODEL") ?? "tiny-whisper",
};

/** Registers the tests of what is at a variable's address, or one that is skipped and says why. */
export function withEngine(
  { name, variable }: Pick<Engine, "name" | "variable">,
  register: (baseUrl: string) => void,
): void {
  const baseUrl = Deno.env.get(variable);
  if (baseUrl !== undefined) register(baseUrl);
  else Deno.test({ name: `${name} (skipped: ${variable} is not set)`, ignore: true, fn() {} });
}
