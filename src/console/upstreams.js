// @ts-check
/// <reference lib="dom" />
/** How each upstream is. */
import { ask, count, duration, h } from "./dom.js";

const EVERY_MS = 2_000;
const HEADS = ["Upstream", "Speaks", "State", "Latency", "Running", "Waiting", "Last error"];

export const upstreams = {
  title: "Upstreams",
  /** @param {HTMLElement} main */
  open(main) {
    const figures = h("ul", { class: "figures", "aria-label": "This process" });
    const body = h("tbody");
    const head = h("thead", {}, h("tr", {}, ...HEADS.map((text) => h("th", { scope: "col" }, text))));
    main.append(
      h("h1", {}, "Upstreams"),
      figures,
      h("div", { class: "wide" }, h("table", {}, h("caption", {}, "As seen by this process"), head, body)),
    );
    return {
      everyMs: EVERY_MS,
      async refresh() {
        const status = await ask("status");
        figures.replaceChildren(
          ...Object.entries({
            state: status.status,
            "running requests": count(status.requestsRunning),
            "open streams": count(status.streamsOpen),
            WebSockets: count(status.webSocketsOpen),
            "MB of memory": count(Math.round(status.memoryBytes / 1e6)),
          }).map(([name, value]) => h("li", {}, h("b", {}, value), h("span", {}, name))),
        );
        body.replaceChildren(...status.upstreams.map(rowOf));
      },
    };
  },
};

/**
 * @param {{ name: string, driver: string, missingSecret?: string, missingFile?: string, resting: string[],
 *   latencyMs?: number, running?: number, waiting?: number, lastError?: { code: string, time: string } }} upstream
 */
function rowOf({ name, driver, missingSecret, missingFile, resting, latencyMs, running, waiting, lastError }) {
  const state = missingSecret !== undefined
    ? `needs the variable ${missingSecret}`
    : missingFile !== undefined
    ? `needs a secret in the file ${missingFile}`
    : resting.length > 0
    ? `circuit open: ${resting.join(", ")}`
    : "ready";
  return h(
    "tr",
    { class: state === "ready" ? "runs" : "bad" },
    h("td", {}, name),
    h("td", {}, driver),
    h("td", { class: "status" }, state),
    h("td", {}, duration(latencyMs)),
    h("td", {}, running ?? ""),
    h("td", {}, waiting ?? ""),
    h("td", {}, lastError ? `${lastError.code}, ${new Date(lastError.time).toLocaleString("en-GB")}` : ""),
  );
}
