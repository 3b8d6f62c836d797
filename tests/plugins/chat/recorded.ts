/** What a real engine was recorded to answer, and to what. */
import type { JsonObject } from "../../../src/canonical/json.ts";

interface Recorded {
  request: JsonObject;
  // deno-lint-ignore no-explicit-any -- an answer of any shape
  json: any;
  text: string;
}

export function readFixture(name: string): Recorded {
  const url = new URL(`../../fixtures/chat/llama-server/${name}.json`, import.meta.url);
  const { request, response } = JSON.parse(Deno.readTextFileSync(url));
  return { request: request.body, json: response.json, text: response.text };
}
