// @ts-check
/** The findings that need no check, because the gateway has met them while it served. */
import { ago, inSpan } from "./words.js";

/**
 * @typedef {import("./health.js").Finding} Finding
 * @typedef {{ model: string, kind: string, part: string, until: string }} Refused
 * @typedef {{ status: string, version: string, startedAt: string, requestsRunning: number, mostRequests: number,
 *   waiting: number, memoryBytes: number, memoryLimit?: number, store: string, storeLoss?: string, isAlone?: boolean,
 *   gateways?: number, workers?: { worker: number, status: string }[], command?: string, why?: string,
 *   catalogs?: { name: string, ageSeconds?: number, lastError?: string }[],
 *   upstreams: { name: string, resting: string[], refused?: Refused[] }[] }} Facts
 */

/** The part of the memory from which on it is short, and the part of the requests. */
const NEARLY = 0.85;

/** @type {(level: Finding["level"], check: string, subject: string, message: string, more?: Partial<Finding>) => Finding} */
const finding = (level, check, subject, message, more = {}) => ({ level, check, subject, message, ...more });

/**
 * @param {Facts} facts
 * @returns {Finding[]}
 */
export function findingsNow(facts) {
  const { upstreams, catalogs = [] } = facts;
  const found = [
    ...ofProcess(facts),
    ...upstreams.flatMap(resting),
    ...upstreams.flatMap(refusals),
    ...catalogs.flatMap(ageing),
  ];
  return found.length > 0 ? found : [finding("ok", "now", "gateway", "It has met nothing that needs your attention")];
}

/** @param {Facts} facts @returns {Finding[]} */
function ofProcess(
  { status, storeLoss, isAlone, memoryBytes, memoryLimit, requestsRunning, mostRequests, workers = [] },
) {
  const silent = workers.filter((one) => one.status === "not responding");
  return [
    status === "draining" && finding("warning", "draining", "gateway", "It is stopping, and takes no new requests"),
    storeLoss && finding("warning", "store-lost", "store", storeLoss.replace(/\.$/, ""), {
      cure: "Find out who removes it, and bring it back from a backup",
    }),
    isAlone &&
    finding("warning", "limits-alone", "store", "Its server does not answer, so each gateway counts limits alone", {
      cure: "Start the server, or look at its network",
    }),
    memoryLimit && memoryBytes > memoryLimit * NEARLY &&
    finding("warning", "memory-short", "memory", "It is nearly used up, and requests are refused once it is", {
      cure: "Give the process more memory, or lower limits.concurrentRequests",
    }),
    requestsRunning > mostRequests * NEARLY &&
    finding("warning", "requests-many", "requests", "Nearly as many run as may, and more are refused", {
      cure: "Raise limits.concurrentRequests, or start more gateways",
    }),
    ...silent.map(({ worker }) =>
      finding("error", "worker-silent", `process ${worker}`, "It does not respond", { cure: "Restart the gateway" })
    ),
  ].filter((one) => typeof one === "object");
}

/** @param {Facts["upstreams"][number]} upstream @returns {Finding[]} */
function resting({ name, resting }) {
  return resting.map((model) =>
    finding(
      "warning",
      "resting",
      `upstream "${name}"`,
      `Its model ${model} rests, because too many calls of it failed`,
      {
        cure: "The gateway tries it again by itself. Until then other targets answer, if there are any",
      },
    )
  );
}

/** @param {NonNullable<Facts["catalogs"]>[number]} catalog @returns {Finding[]} */
function ageing({ name, ageSeconds, lastError }) {
  if (lastError === undefined) return [];
  const old = ageSeconds === undefined
    ? "there is no list of its models"
    : `its list is ${inSpan(ageSeconds * 1_000)} old`;
  const cure = "The gateway asks it again by itself";
  return [
    finding("note", "catalog-old", `catalog "${name}"`, `It does not answer (${lastError}), so ${old}`, { cure }),
  ];
}

/** @param {Facts["upstreams"][number]} upstream @returns {Finding[]} */
function refusals({ name: upstream, refused = [] }) {
  return [...Map.groupBy(refused, ({ model }) => model)].map(([model, parts]) =>
    finding(
      "note",
      "refused",
      `${model} of ${upstream}`,
      `It refuses parts of requests, so they go without: ${
        parts.map(({ part, kind, until }) => `${part} (${kind}, tried again ${ago(until)})`).join(", ")
      }`,
      { cure: "If it accepts them by now, forget it", forget: { upstream, model } },
    )
  );
}
