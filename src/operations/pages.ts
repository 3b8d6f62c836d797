/** What is asked of the gateway itself, apart from every lane. Each page is loaded when it is first asked for. */
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";

interface Page {
  /** Who may see it. Of what keys open each sees its own. */
  opens: "everybody" | "keys" | "operators";
  answer(context: RequestContext): Promise<Response>;
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

/** What answers a path, if it is one of these. */
export function findPage(url: URL | undefined): Page | undefined {
  return url && Object.hasOwn(PAGES, url.pathname) ? PAGES[url.pathname] : undefined;
}

/** Throws `permission` where the caller may not see the page. */
export async function answerPage(page: Page, context: RequestContext): Promise<Response> {
  if (page.opens === "operators" && !context.caller.operator) {
    throw new GatewayError("permission", `This page is for operators: use a key that has "operator": true`);
  }
  const response = await page.answer(context);
  response.headers.set("cache-control", "no-store");
  // Monitoring asks every few seconds: it leaves no line in the log.
  context.recorder.discard();
  return response;
}
