/** The fields of requests, by the client's wire. */
import { CHAT_REQUESTS } from "./chat_requests.ts";
import { GEMINI_REQUESTS } from "./gemini_requests.ts";
import { MESSAGES_REQUESTS } from "./messages_requests.ts";
import { OLLAMA_REQUESTS } from "./ollama_requests.ts";
import { RESPONSES_REQUESTS } from "./responses_requests.ts";
import type { Client, Sample } from "./sample.ts";

export const REQUESTS: Record<Client, readonly Sample[]> = {
  messages: MESSAGES_REQUESTS,
  chat: CHAT_REQUESTS,
  responses: RESPONSES_REQUESTS,
  ollama: OLLAMA_REQUESTS,
  gemini: GEMINI_REQUESTS,
};
