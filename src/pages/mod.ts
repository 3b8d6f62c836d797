/** What is asked of the gateway itself, apart from every lane. Each page is loaded when it is first asked for. */
import type { OwnRequest, RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";

interface Page {
  /** Who may see it. Of what keys open each sees its own. */
  opens: "everybody" | "keys" | "operators";
  /** The page; or the request that this one stands for, which is then served in its place. */
  answer(context: RequestContext): Promise<Response | OwnRequest>;
  /** Whether it looks at the method itself; all others take GET. */
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

/** All that is below `/console`; it finds out itself who may see what. */
const CONSOLE: Page = {
  opens: "everybody",
  takesAny: true,
  answer: async (context) => (await loadConsole()).consolePage(context),
};

/** Its files are imported as texts, which Node (24) does not know. */
async function loadConsole() {
  try {
    return await import("./console/mod.ts");
  } catch (cause) {
    throw new GatewayError("unsupported", "This platform cannot serve the console", { cause });
  }
}

/** What answers a path, if it is one of these. `hasConsole`: whether the configuration wants one. */
export function findPage(url: URL | undefined, hasConsole: boolean): Page | undefined {
  if (!url) return undefined;
  const { pathname } = url;
  if (Object.hasOwn(PAGES, pathname)) return PAGES[pathname];
  return hasConsole && /^\/console(\/|$)/.test(pathname) ? CONSOLE : undefined;
}

/** Throws `permission` where the caller may not see the page. */
export async function answerPage(page: Page, context: RequestContext): Promise<Response | OwnRequest> {
  if (page.opens === "operators" && !context.caller.operator) {
    throw new GatewayError("permission", `This page is for operators: use a key that has "operator": true`);
  }
  const answer = await page.answer(context);
  // Monitoring asks every few seconds: it leaves no line in the log.
  context.requestLog.discard();
  if (answer instanceof Response && !answer.headers.has("cache-control")) {
    answer.headers.set("cache-control", "no-store");
  }
  return answer;
}
