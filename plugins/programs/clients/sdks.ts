/** Libraries that programs call the gateway with, by the names that they give themselves. */
import type { Client } from "../../../src/contract/client.ts";

export const sdks: readonly Required<Pick<Client, "title" | "agents">>[] = [
  { title: "OpenAI SDK", agents: ["OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"] },
  { title: "Anthropic SDK", agents: ["Anthropic", "AsyncAnthropic"] },
  { title: "Google Gen AI SDK", agents: ["google-genai-sdk"] },
  { title: "Ollama SDK (Python)", agents: ["ollama-python"] },
  { title: "Ollama SDK (JS)", agents: ["ollama-js"] },
  { title: "AI SDK", agents: ["ai-sdk"] },
];
