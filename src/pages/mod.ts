/** The pages of the gateway itself, outside all lanes. Each page is loaded when it is first requested. */
import type { OwnRequest, RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";

interface Page {
  /** The callers that may see the page. A page for keys shows each caller its own data. */
  opens: "everybody" | "keys" | "operators";
  /** Returns the page, or another request that is then served in place of this one. */
  answer(context: RequestContext): Promise<Response | OwnRequest>;
  /** Whether the page checks the method itself. All others take GET and HEAD. */
  takesAny?: boolean;
}

export const PAGES: Readonly<Record<string, Page>> = {
  "/openapi.json": {
    opens: "everybody",
    answer: async (context) => (await import("./openapi_page.ts")).openapiPage(context),
  },
  "/docs": {
    opens: "everybody",
    answer: async (context) => (await import("./docs_page.ts")).docsPage(context),
  },
  "/metrics": {
    opens: "operators",
    answer: async (context) => (await import("./metrics_page.ts")).metricsPage(context),
  },
  "/status": {
    opens: "operators",
    answer: async (context) => (await import("./status_page.ts")).statusPage(context),
  },
  "/usage": {
    opens: "keys",
    answer: async (context) => (await import("./usage_page.ts")).usagePage(context),
  },
};

/** The first segments of the paths of all pages. */
export const PAGE_SEGMENTS: readonly string[] = [...Object.keys(PAGES).map((path) => path.slice(1)), "console"];

/** Everything below `/console`. The console itself checks who may see what. */
const CONSOLE: Page = {
  opens: "everybody",
  takesAny: true,
  answer: async (context) => (await import("./console/mod.ts")).consolePage(context),
};

/** The page at a path, if there is one. `hasConsole`: whether the configuration wants a console. */
export function findPage(url: URL | undefined, hasConsole: boolean): Page | undefined {
  if (!url) return undefined;
  const { pathname } = url;
  if (Object.hasOwn(PAGES, pathname)) return PAGES[pathname];
  return hasConsole && /^\/console(\/|$)/.test(pathname) ? CONSOLE : undefined;
}

/** Throws `permission` if the caller may not see the page. */
export async function answerPage(page: Page, context: RequestContext): Promise<Response | OwnRequest> {
  if (page.opens === "operators" && !context.caller.operator) {
    throw new GatewayError("permission", `This page is for operators: use a key that has "operator": true`);
  }
  const answer = await page.answer(context);
  // Monitoring requests pages every few seconds, so these requests are not logged.
  context.requestLog.discard();
  if (answer instanceof Response && !answer.headers.has("cache-control")) {
    answer.headers.set("cache-control", "no-store");
  }
  return answer;
}
