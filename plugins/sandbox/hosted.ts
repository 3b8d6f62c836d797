/** The sandbox's hosted tools: a search of a few built-in pages, so that an answer with citations needs no network. */
import type { GenerateRequest, HostedPart, HostedTool, OutputPart, TextPart } from "../../src/canonical/generate.ts";
import type { HostedCall, HostedResult, HostedWork, Page, RemoteTool, SearchHit } from "../../src/canonical/hosted.ts";
import type { DrawRequest, DrawResponse } from "../../src/canonical/draw.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { settleApprovals } from "../../src/transforms/approvals.ts";
import { citationsIn } from "../../src/transforms/citations.ts";
import type { Conversation } from "./conversation.ts";
import { runsOf } from "./terms.ts";
import { cut, enumerate } from "./words.ts";

const page = (path: string, title: string, text: string): Page => ({
  url: `https://sandbox.invalid/${path}`,
  title,
  text,
  mediaType: "text/plain",
});

const PAGES: readonly Page[] = [
  page("lanes", "Lanes", "A lane is a path prefix with its own models. The default configuration has two: oss and hf."),
  page(
    "upstreams",
    "Upstreams",
    "An upstream is a service that runs models. Name yours in gateway.json with its baseUrl.",
  ),
  page("search", "Searching the web", "Set hostedTools.webSearch in gateway.json to have the gateway search the web."),
  page("sandbox", "The sandbox", "The sandbox answers with no key and no network. It runs no model and knows no news."),
];

/** The steps of hosted tools before the answer, and a text about them. Empty if no hosted tool is used. */
export function useHosted(request: GenerateRequest, conversation: Conversation, draw?: Draw): OutputPart[] {
  const { approved, declined } = settleApprovals(request.messages);
  if (approved.length > 0 || declined.length > 0) {
    return [...ran(approved), aboutSteps([...ran(approved), ...declined])];
  }
  const used = chooseTools(request, conversation).flatMap((tool) => use(tool, conversation, draw));
  const taken = new Set(
    request.messages.flatMap(({ role, content }) =>
      role === "assistant" ? content.flatMap((part) => part.type === "hosted" ? [part.id] : []) : []
    ),
  );
  let number = taken.size;
  const parts = used.flatMap(({ call, result }): HostedPart[] => {
    const id = `sandbox_${++number}`;
    const step: HostedPart = { type: "hosted", id, call };
    return result ? [step, { ...step, result }] : [{ ...step, awaitsApproval: true }];
  });
  return parts.length === 0 ? [] : [...parts, aboutSteps(parts)];
}

/** The calls that the client has approved, with their results. */
function ran(approved: readonly HostedPart[]): HostedPart[] {
  return approved.flatMap((step) =>
    step.call.kind === "mcp" ? [step, { ...step, result: contentOf(urlIn(step.call.input)) }] : []
  );
}

/** On the chat wire, a search is requested by a field, not by a tool. */
const SEARCH_FIELD = "web_search_options";
const SEARCH: HostedTool = {
  type: "hosted",
  name: "web_search",
  work: { kind: "web-search", opensPages: false },
  extra: { wire: "chat", fields: {} },
};

/** The hosted tools to use: the forced one, or all if there are no other tools, or else those that the user's text names. */
function chooseTools(
  { tools: listed = [], toolChoice, extra }: GenerateRequest,
  { text }: Conversation,
): (HostedTool & { work: HostedWork })[] {
  const tools = isJsonObject(extra?.fields[SEARCH_FIELD]) ? [...listed, SEARCH] : listed;
  const hosted = tools.filter((tool) => tool.type === "hosted").filter((tool) =>
    tool.work !== undefined
  ) as (HostedTool & { work: HostedWork })[];
  if (hosted.length === 0 || toolChoice?.type === "none") return [];
  if (toolChoice?.type === "tool") return hosted.filter(({ name }) => name === toolChoice.name);
  if (hosted.length === tools.length) return hosted;
  const words = text.toLowerCase();
  return hosted.filter(({ name, work }) =>
    words.includes(name.replaceAll("_", " ")) || words.includes(WORD_OF[work.kind])
  );
}

const WORD_OF: Record<HostedWork["kind"], string> = {
  "web-search": "search",
  "web-fetch": "https://",
  code: "python",
  mcp: "mcp",
  "tool-search": "tool search",
  image: "image",
};

/** An example of code and its output. The sandbox runs none. */
const RUN = { code: "print(6 * 7)", stdout: "42\n" };

interface Step {
  call: HostedCall;
  /** Absent if the client has to approve the call first. */
  result?: HostedResult;
}

/** Draws a picture, as for a request for one. */
export type Draw = (
  request: DrawRequest,
  target: Pick<Target, "model">,
  context: Pick<Context, "note">,
) => DrawResponse;

/** A picture by the words of the user. */
function picture(prompt: string, draw: Draw): Step[] {
  const request: DrawRequest = { model: "sandbox-image", prompt, count: 1, stream: false };
  const { pictures: [drawn] } = draw(request, request, { note: () => {} });
  if (drawn?.base64 === undefined) return [];
  const facts = {
    output_format: drawn.format,
    ...(drawn.size && { size: `${drawn.size.width}x${drawn.size.height}` }),
  };
  const result: HostedResult = { kind: "picture", base64: drawn.base64, mediaType: `image/${drawn.format}`, facts };
  return [{ call: { kind: "image", prompt }, result }];
}

function use({ work }: { work: HostedWork }, { text }: Conversation, draw: Draw | undefined): Step[] {
  const url = urlIn(text);
  switch (work.kind) {
    case "web-search": {
      const query = cut(text.split("\n").at(-1) ?? "", 200);
      return [{ call: { kind: "web-search", query }, result: { kind: "hits", hits: find(query) } }];
    }
    case "web-fetch":
      return [{ call: { kind: "web-fetch", url }, result: open(url) }];
    case "code": {
      const container = work.container ?? `${work.prefix}sandbox000000000000`;
      return [{
        call: { kind: "code", code: RUN.code, container },
        result: { kind: "executed", stdout: RUN.stdout, stderr: "", exitCode: 0, files: [] },
      }];
    }
    case "mcp": {
      const { server, approval } = work;
      const call: HostedCall = { kind: "mcp", server, name: READ_PAGE.name, input: JSON.stringify({ url }) };
      return [
        { call: { kind: "mcp-list", server }, result: { kind: "tools", tools: [READ_PAGE] } },
        { call, ...(approval === "never" && { result: contentOf(url) }) },
      ];
    }
    case "tool-search":
      // The gateway searches the tools, as for any model.
      return [];
    case "image":
      return draw ? picture(cut(text.split("\n").at(-1) ?? "", 200), draw) : [];
    default:
      return work satisfies never;
  }
}

const READ_PAGE: RemoteTool = {
  name: "read_page",
  description: "Reads a page of the sandbox",
  parameters: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
  annotations: { readOnlyHint: true },
};

/** All pages, sorted by the number of words that they share with the query. */
function find(query: string): SearchHit[] {
  const wanted = new Set(termsOf(query));
  const scored = PAGES.map((one) => ({
    one,
    score: termsOf(`${one.title} ${one.text}`).filter((term) => wanted.has(term)).length,
  }));
  return scored.toSorted((a, b) => b.score - a.score).slice(0, 3)
    .map(({ one: { url, title = url, text } }, index) => ({ number: index + 1, url, title, text }));
}

function termsOf(text: string): string[] {
  return [...new Set(runsOf(text).flatMap(({ terms }) => terms))];
}

function urlIn(text: string): string {
  return /https?:\/\/[^\s"'<>)]+/.exec(text)?.[0] ?? PAGES[0]!.url;
}

function contentOf(url: string): HostedResult {
  const opened = open(url);
  const text = opened.kind === "page" ? opened.page.text : "There is no such page.";
  return { kind: "content", content: [{ type: "text", text }] };
}

function open(url: string): HostedResult {
  const found = PAGES.find((one) => one.url === url.replace(/[.,;]$/, ""));
  return found ? { kind: "page", page: found } : { kind: "error", code: "not_accessible" };
}

/** A text about the results, with the numbers of the hits in square brackets. */
function aboutSteps(parts: readonly HostedPart[]): TextPart {
  const hits = parts.flatMap(({ result }) => result?.kind === "hits" ? result.hits : []);
  const said = parts.flatMap(({ call, result }): string[] => {
    if (!result) {
      return call.kind === "mcp" && !parts.some((other) => other.call === call && other.result)
        ? [`"${call.name}" waits for you`]
        : [];
    }
    switch (result.kind) {
      case "hits":
        return result.hits.map(({ title, text, number }) => `${title}: ${text} [${number}]`);
      case "page":
        return [result.page.text];
      case "content":
        return result.content.flatMap((one) => one.type === "text" ? [one.text] : []);
      case "error":
        return [result.message ?? `it could not be opened (${result.code})`];
      case "executed":
        return [`an example, because the sandbox runs no code: "${RUN.code}" prints ${RUN.stdout.trim()}`];
      case "picture":
      case "found":
      case "tools":
      case "lost":
        return [];
      default:
        return result satisfies never;
    }
  });
  const text = said.length === 0 && parts.some(({ result }) => result?.kind === "picture")
    ? "The Laneway sandbox drew a picture by your words"
    : `The Laneway sandbox looked into its own pages, which are not the web. It found ${enumerate(said)}`;
  const annotations = citationsIn(text, new Map(hits.map((hit) => [hit.number, hit])));
  return { type: "text", text, ...(annotations.length > 0 && { annotations }) };
}
