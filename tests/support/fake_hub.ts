/** The model hub as a function: the hub's API, its router with all providers behind it, and the hosts of their files. */
import type { JsonValue } from "../../src/canonical/json.ts";
import { HOSTS, type HubAsked } from "./fake_hub/asked.ts";
import { answerEngine } from "./fake_hub/engine.ts";
import { answerFal, answerMedia, answerReplicate, newJobs } from "./fake_hub/jobs.ts";
import { drawAtOthers } from "./fake_hub/pictures.ts";
import { answerHub, chatRepositories, REPOSITORIES, type Repository } from "./fake_hub/repositories.ts";
import { answerChat, MODELS, refuseChat, refuseCredential } from "./fake_hub/router.ts";
import { answerStandard, STANDARD } from "./fake_hub/standard.ts";
import type { Asked } from "./fake_upstream.ts";

export { formOf, HOSTS, type HubAsked, jsonOf, TOKEN } from "./fake_hub/asked.ts";
export { HUB_REFUSALS, mapped, mappedAsList, REPOSITORIES, type Repository } from "./fake_hub/repositories.ts";
export { png, promptOf } from "./fake_hub/pictures.ts";
export { listed, MODELS, provider, REFUSALS } from "./fake_hub/router.ts";
export { hear, SOUNDS } from "./fake_hub/sounds.ts";

/** Where the router's chat is, as the default configuration has it. */
export const ROUTER = `https://${HOSTS.router}/v1`;
/** Where the hub's API is, as the default configuration has it. */
export const HUB = `https://${HOSTS.hub}`;

export interface FakeHubOptions {
  /** The answer to `GET /v1/models`. A function is called for each request. */
  models?: readonly JsonValue[] | ((asked: Asked) => Response | Promise<Response>);
  /** Answers `POST /v1/chat/completions`, unless the request is refused. */
  chat?: (asked: Asked) => Response;
  /** The models of other tasks. */
  repositories?: readonly Repository[];
  /** The most models on a page of the hub's listings. */
  pageSize?: number;
  /** Asked first: what answers in place of the hub, or nothing to let it answer. */
  instead?: (asked: HubAsked) => Response | Promise<Response> | undefined;
}

export interface FakeHub {
  fetch: typeof fetch;
  /** In the order of arrival. */
  asked: HubAsked[];
}

export function fakeHub(options: FakeHubOptions = {}): FakeHub {
  const answer = createAnswer(options);
  const asked: HubAsked[] = [];
  return {
    asked,
    async fetch(input, init) {
      const request = new Request(input, init);
      const { method, headers, signal } = request;
      const bytes = await request.bytes();
      const body = new TextDecoder().decode(bytes);
      const call = { method, url: new URL(request.url), headers, body, bytes, signal };
      asked.push(call);
      signal.throwIfAborted();
      return await answer(call);
    },
  };
}

function createAnswer(
  { models = MODELS, chat = answerChat, repositories = REPOSITORIES, pageSize = 1000, instead }: FakeHubOptions,
): (asked: HubAsked) => Response | Promise<Response> {
  const jobs = newJobs();
  const all = [...repositories, ...(typeof models === "function" ? [] : chatRepositories(models))];
  const runs = (provider: string, model: string) => all.some((one) => nameAt(provider, one) === model);

  function answerRouter(asked: HubAsked): Response | Promise<Response> {
    const { method, url, headers } = asked;
    if (method === "GET" && url.pathname === "/v1/models") {
      // The list needs no token, and a wrong one changes nothing.
      return typeof models === "function" ? models(asked) : Response.json({ object: "list", data: models });
    }
    const refusal = refuseCredential(headers);
    if (refusal) return refusal;
    if (method === "POST" && url.pathname === "/v1/chat/completions") {
      return refuseChat(JSON.parse(asked.body), models) ?? chat(asked);
    }
    const [, provider = ""] = url.pathname.split("/");
    const drawn = drawAtOthers(provider, asked, jobs, runs);
    if (drawn) return drawn;
    if (provider === "hf-inference") return answerEngine(asked, all, runs);
    if (provider === "fal-ai") return answerFal(asked, jobs, runs);
    if (provider === "replicate") return answerReplicate(asked, jobs, runs);
    if (Object.hasOwn(STANDARD, provider)) return answerStandard(asked, provider, runs);
    return Response.json({ error: "Not Found" }, { status: 404 });
  }

  return (asked) => {
    const answer = instead?.(asked);
    if (answer) return answer;
    switch (asked.url.host) {
      case HOSTS.router:
        return answerRouter(asked);
      case HOSTS.hub:
        return answerHub(asked, all, pageSize);
      case HOSTS.fal:
      case HOSTS.replicate:
      case HOSTS.wavespeed:
      case HOSTS.zai:
        return answerMedia(asked, jobs);
      default:
        throw new TypeError("The fake hub is not there");
    }
  };
}

/** A live provider's name for the model. If the name has a version, only the version. */
function nameAt(provider: string, { inferenceProviderMapping = {} }: Repository): string | undefined {
  const entry = Array.isArray(inferenceProviderMapping)
    ? inferenceProviderMapping.find((one) => one.provider === provider)
    : inferenceProviderMapping[provider];
  const { status, providerId } = (entry ?? {}) as Record<string, string | undefined>;
  return status === "live" ? providerId?.split(":").at(-1) : undefined;
}
