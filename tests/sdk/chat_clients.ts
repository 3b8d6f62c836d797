/** The vendor's SDK in its last three majors, in front of an app in this process. */
import OpenAI from "openai";
// One table serves them all, so the older ones are read with the newest one's types.
// @ts-types="openai"
import OpenAI5 from "openai-5";
// @ts-types="openai"
import OpenAI6 from "openai-6";
import { ENV, type TestApp } from "../support/app.ts";
import { bodyOf } from "../support/chunks.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { answerBytes, type Fixture, loadFixtures } from "../support/fixtures.ts";

export type { OpenAI };

/** The newest SDK is first. */
export const MAJORS = [
  { major: 7, Sdk: OpenAI },
  { major: 6, Sdk: OpenAI6 },
  { major: 5, Sdk: OpenAI5 },
] as const;
export type Major = (typeof MAJORS)[number];

/** A client that asks once and does not try again. */
export function newClient({ Sdk }: Major, app: TestApp, lane = "oss", maxRetries = 0): OpenAI {
  return new Sdk({ baseURL: `http://gateway/${lane}/v1`, apiKey: ENV.TEAM_KEY, maxRetries, fetch: fetchFrom(app) });
}

/** As a network does it: a request that is aborted fails, and a body that is not wanted any more breaks off. */
export function fetchFrom(app: TestApp): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const response = await app.fetch(request);
    request.signal.throwIfAborted();
    const body = response.body?.pipeThrough(new TransformStream(), { signal: request.signal });
    return new Response(body, response);
  };
}

const FIXTURES = new Map(loadFixtures("chat").map((fixture) => [fixture.name, fixture]));

/** A recorded exchange, by the name of its file. */
export function recorded(name: string): Fixture {
  return FIXTURES.get(name)!;
}

/** A recorded answer that came whole. */
export function completionOf(name: string): OpenAI.ChatCompletion {
  const answer = recorded(name).response.json as unknown;
  return answer as OpenAI.ChatCompletion;
}

/** Its message. */
export function messageOf(name: string): OpenAI.ChatCompletionMessage & { reasoning_content?: string } {
  return completionOf(name).choices[0]!.message;
}

/** An upstream that answers as it was recorded, one exchange after the other: whole, or streamed where it is asked to. */
export function recordedUpstream(...names: string[]): FakeUpstream {
  return fakeUpstream(...names.map((name) => ({ body }: { body: string }) => {
    const fixture = recorded(JSON.parse(body).stream ? `${name}-stream` : name);
    const headers = { "content-type": fixture.response.headers["content-type"]! };
    return new Response(bodyOf([answerBytes(fixture)]), { status: fixture.response.status, headers });
  }));
}
