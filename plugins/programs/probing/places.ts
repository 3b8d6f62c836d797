/** The usual addresses of model servers, and the task that a model's name suggests. */
import type { Task } from "../../../src/canonical/models.ts";
import { asObject, asObjects } from "../../../src/canonical/json.ts";
import type { TokenCheck } from "../../../src/contract/probing.ts";

/** The base URLs of servers on this machine, with the port that each kind of server uses by default. */
export const usualAddresses: readonly string[] = [
  "http://127.0.0.1:11434/v1", // Ollama
  "http://127.0.0.1:8080/v1", // llama.cpp, MLX, LocalAI, TGI
  "http://127.0.0.1:1234/v1", // LM Studio
  "http://127.0.0.1:8000/v1", // vLLM
  "http://127.0.0.1:30000/v1", // SGLang
  "http://127.0.0.1:12434/engines/v1", // Docker Model Runner
  "http://127.0.0.1:1337/v1", // Jan
  "http://127.0.0.1:5000/v1", // text-generation-webui
  "http://127.0.0.1:5001/v1", // KoboldCpp
  "http://127.0.0.1:4891/v1", // GPT4All
  "http://127.0.0.1:4000/v1", // LiteLLM
  "http://127.0.0.1:7997/v1", // Infinity
  "http://127.0.0.1:13305/api/v1", // Lemonade
];

const TASK_WORDS: readonly (readonly [words: RegExp, task: Task])[] = [
  [/rerank/i, "rerank"],
  [/embed|\b(?:bge|e5|gte|minilm)-/i, "embedding"],
  [/whisper|transcribe|parakeet/i, "transcription"],
  [/\btts\b|kokoro|orpheus/i, "speech"],
  [/\bflux\b|stable-diffusion|\bsdxl\b|dall-e|\b(?:gpt|qwen|z)-image\b/i, "image"],
];

/** The probable task of a model, by its name: lists of models do not have it. */
export function likelyTask(model: string): Task {
  return TASK_WORDS.find(([words]) => words.test(model))?.[1] ?? "chat";
}

const CALLS_MODELS = "inference.serverless.write";

/** How the hub says whether a token is valid, and what it may do. */
export const hubToken: TokenCheck = {
  title: "Hugging Face",
  path: "api/whoami-v2",
  keysAt: "https://huggingface.co/settings/tokens",
  lacks(body) {
    const { role, fineGrained } = asObject(asObject(asObject(body).auth).accessToken);
    if (role !== "fineGrained") return undefined;
    const { global, scoped } = asObject(fineGrained);
    const granted = [global, ...asObjects(scoped).map(({ permissions }) => permissions)].flat();
    return granted.includes(CALLS_MODELS)
      ? undefined
      : 'The token lacks the permission "Make calls to Inference Providers"';
  },
};
