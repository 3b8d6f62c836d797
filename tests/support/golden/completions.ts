/** The golden files of completions: each request as every kind of upstream gets it, and its answer. */
import { newApp } from "../app.ts";
import { ANSWERS, configFor, type Setup, USAGE } from "../completions.ts";
import { type Asked, fakeUpstream } from "../fake_upstream.ts";
import type { Fixture } from "../fixtures.ts";
import { answerOf, type Part, requestsTo, writeParts } from "./requests.ts";

/** The kinds of upstreams, and how each answers. */
const UPSTREAMS: Partial<Record<Setup, keyof typeof ANSWERS>> = {
  plain: "completions",
  suffix: "completions",
  beta: "completions",
  fim: "fim",
  infill: "infill",
  generate: "generate",
  chat: "chat",
};

export async function completionsGolden({ request }: Fixture, isSure: boolean): Promise<string> {
  const parts: Part[] = [];
  for (const [setup, kind] of Object.entries(UPSTREAMS)) {
    const upstream = fakeUpstream((asked) => answer(asked, kind));
    const app = newApp({ config: configFor(setup as Setup), fetch: upstream.fetch });
    const response = await app.post(request.path, request.body, request.headers);
    const answered = await answerOf(setup, response);
    parts.push(...requestsTo(setup, upstream.asked), answered);
  }
  return writeParts(parts.toSorted((one, other) => rank(one) - rank(other)), isSure);
}

/** All requests come before all answers. */
function rank({ what }: Part): number {
  return what.startsWith("request") ? 0 : 1;
}

/** The answer of a server of this kind: as many completions as were asked for. */
function answer({ url, body }: Asked, kind: keyof typeof ANSWERS): Response {
  const { prompt, n = 1, echo, logprobs, max_tokens, stream = kind === "generate" } = JSON.parse(body);
  if (!url.pathname.endsWith("completions") || kind === "chat" || kind === "fim" || stream && n === 1) {
    return ANSWERS[url.pathname.endsWith("/completions") && kind === "infill" ? "completions" : kind]!(stream);
  }
  const prompts: unknown[] = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt : [prompt];
  const written = max_tokens === 0 ? [] : [" + b"];
  const choices = prompts.flatMap((one) => new Array<string[]>(n).fill([...echo ? [String(one)] : [], ...written])).map(
    (tokens, index) => ({
      index,
      text: tokens.join(""),
      finish_reason: max_tokens === 0 ? "length" : "stop",
      ...(logprobs !== undefined && { logprobs: logprobsOf(tokens, echo) }),
    }),
  );
  if (!stream) return Response.json({ choices, usage: USAGE });
  const frames = [...choices.map((choice) => ({ choices: [choice] })), { choices: [], usage: USAGE }];
  const text = [...frames.map((frame) => JSON.stringify(frame)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** The first token of a prompt follows nothing, so that it has no probability. */
function logprobsOf(tokens: readonly string[], echo: boolean): object {
  const known = tokens.map((token, at) => echo && at === 0 ? null : { [token]: -0.5 });
  return {
    tokens,
    token_logprobs: known.map((one) => one && -0.5),
    top_logprobs: known,
    text_offset: tokens.map((_, at) => tokens.slice(0, at).join("").length),
  };
}
