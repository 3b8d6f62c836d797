/** Clients whose settings lie in a database or with their maker: the user is shown what to enter. */
import type { Client, Connection } from "../../../src/contract/client.ts";
import { baseUrl, keyVariable } from "./place.ts";

function keyWords(connection: Connection): string {
  const variable = keyVariable(connection);
  if (variable !== undefined) return `the key that ${variable} holds`;
  return connection.key ? "your key" : "any text as the key";
}

export const rooCode: Client = {
  name: "roo-code",
  title: "Roo Code",
  wire: "chat",
  steps: (connection) => [
    'Open its settings and choose the API Provider "OpenAI Compatible"',
    `Enter the Base URL ${baseUrl(connection)}, ${keyWords(connection)}, and the model ${connection.model}`,
  ],
};

export const cursor: Client = {
  name: "cursor",
  title: "Cursor",
  wire: "chat",
  steps: (connection) => [
    ...new URL(connection.gateway).protocol === "https:"
      ? []
      : ["Cursor calls from its own servers: give the gateway a public https address and keys first"],
    `Settings → Models → Override OpenAI Base URL: ${baseUrl(connection)}, and ${keyWords(connection)}`,
    `Add the model ${connection.model}, and turn the built-in models of OpenAI off`,
  ],
};

export const jetbrains: Client = {
  name: "jetbrains",
  title: "JetBrains AI Assistant",
  wire: "chat",
  steps: (connection) => [
    "AI Chat → Use API Key or Local Models → OpenAI-compatible",
    `Enter the Base URL ${baseUrl(connection)}, ${keyWords(connection)}, and the model ${connection.model}`,
  ],
};

export const openWebui: Client = {
  name: "open-webui",
  title: "Open WebUI",
  wire: "chat",
  steps: (connection) => [
    `Before its first start set OPENAI_API_BASE_URLS=${baseUrl(connection)}, and OPENAI_API_KEYS to ${
      keyWords(connection)
    }`,
    "Later its database wins: Admin Panel → Settings → Connections → OpenAI API → Add Connection, with the same values",
    "From a container the gateway is not at 127.0.0.1: use http://host.docker.internal with its port, and give the gateway keys",
  ],
};
