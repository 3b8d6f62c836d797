import type { JsonValue } from "../../src/canonical/json.ts";
import type { WireRequest } from "../../src/contract/context.ts";
import type { Reply } from "../../src/contract/call.ts";
import { newWireRequest } from "./context.ts";

/** One exchange in one wire: what a client asks, and what an upstream answers to it. */
export interface Fixture {
  /** The file's, without the ending: `a-name-that-comes-late`. */
  name: string;
  request: {
    method: string;
    path: string;
    headers: Record<string, string>;
    /** Text where the client sent no JSON. */
    body: JsonValue;
  };
  response: {
    status: number;
    headers: Record<string, string>;
    json?: JsonValue;
    text?: string;
  };
}

const FIXTURES = new URL("../fixtures/", import.meta.url);

/** Every exchange that was recorded or written in `wire`, in the order of the names. */
export function loadFixtures(wire: string): Fixture[] {
  const fixtures: Fixture[] = [];
  for (const source of Deno.readDirSync(new URL(`${wire}/`, FIXTURES))) {
    for (const file of Deno.readDirSync(new URL(`${wire}/${source.name}/`, FIXTURES))) {
      const exchange = JSON.parse(Deno.readTextFileSync(new URL(`${wire}/${source.name}/${file.name}`, FIXTURES)));
      fixtures.push({ ...exchange, name: file.name.replace(/\.json$/, "") });
    }
  }
  return fixtures.sort((one, other) => one.name < other.name ? -1 : 1);
}

export function isOk({ response }: Fixture): boolean {
  return response.status >= 200 && response.status < 300;
}

export function isStream(fixture: Fixture): boolean {
  return isOk(fixture) && /^text\/event-stream\b/.test(fixture.response.headers["content-type"] ?? "");
}

/** The bytes of the answer, as the upstream sends them. */
export function answerBytes({ response }: Fixture): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(response.text ?? JSON.stringify(response.json));
}

export function wireRequest({ request }: Fixture): WireRequest {
  return newWireRequest(request.body, request.headers);
}

export function reply({ response: { status, headers, json, text } }: Fixture): Reply {
  return { status, headers: new Headers(headers), body: json ?? text ?? "" };
}
