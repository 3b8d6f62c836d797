/** A model that searches the web, and the service that it searches by, as the host `scripted.test` answers for both. */
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { answerStream, ENDING, frame, word } from "../support/chat.ts";

export const PAGES = [
  { title: "Oslo now", url: "https://weather.test/oslo", content: "Rain, 7 degrees" },
  { title: "Norway", url: "https://weather.test/norway", content: "Wind" },
];

/** What the configuration says of hosted tools, where `scripted.test` searches. */
export const SEARCHED_BY_SCRIPT: ConfigInput["hostedTools"] = {
  webSearch: { backend: "tavily", baseUrl: "http://scripted.test", secret: { env: "TEAM_KEY" } },
};

/**
 * Answers for both: `otherwise` answers what is no request to search. The model searches once, where it is offered a search,
 * and then says what it found.
 */
export function searching(otherwise: (body: JsonObject) => Response): (call: number, body: JsonObject) => Response {
  return (_call, body) => {
    if (typeof body.query === "string") return Response.json({ results: PAGES });
    const { tools } = body;
    const isOffered = Array.isArray(tools) && JSON.stringify(tools).includes('"name":"web_search"');
    if (!isOffered) return otherwise(body);
    const messages = Array.isArray(body.messages) ? body.messages.filter(isJsonObject) : [];
    if (messages.at(-1)?.role === "tool") return answerStream([word("It rains in Oslo [1]."), ENDING]);
    const call = {
      index: 0,
      id: "call_s",
      type: "function",
      function: { name: "web_search", arguments: '{"query":"Oslo weather"}' },
    };
    return answerStream([
      frame({ delta: { role: "assistant", tool_calls: [call] }, finish_reason: "tool_calls" }),
      "data: [DONE]\n\n",
    ]);
  };
}
