// @ts-check
/// <reference lib="dom" />
/** The console's pages by their names in the address. Each is loaded when it is first opened. */

/**
 * @typedef {{ refresh(): Promise<void>, everyMs: number, close?(): void }} Opened
 * @typedef {{ open(main: HTMLElement): Opened }} Page
 * @typedef {{ title: string, icon: string, group?: string, load(): Promise<Page> }} Entry
 */

/** The groups of the sidebar, in their order. */
export const GROUPS = ["Observe", "Build", "Manage"];

/** @type {Readonly<Record<string, Entry>>} */
export const PAGES = {
  // It is above the groups until the gateway is set up. Its steps are reached from other pages, too.
  setup: { title: "Set up", icon: "zap", load: async () => (await import("../setup.js")).setup },
  live: {
    title: "Live",
    icon: "activity",
    group: "Observe",
    load: async () => (await import("../live.js")).live,
  },
  inspect: {
    title: "Inspect",
    icon: "telescope",
    group: "Observe",
    load: async () => (await import("../inspect.js")).inspect,
  },
  sessions: {
    title: "Sessions",
    icon: "messages-square",
    group: "Observe",
    load: async () => (await import("../sessions.js")).sessions,
  },
  usage: {
    title: "Usage",
    icon: "chart-column",
    group: "Observe",
    load: async () => (await import("../usage.js")).usage,
  },
  playground: {
    title: "Playground",
    icon: "square-terminal",
    group: "Build",
    load: async () => (await import("../playground.js")).playground,
  },
  upstreams: {
    title: "Upstreams",
    icon: "server",
    group: "Build",
    load: async () => (await import("../upstreams.js")).upstreams,
  },
  models: {
    title: "Models",
    icon: "boxes",
    group: "Build",
    load: async () => (await import("../models.js")).models,
  },
  clients: {
    title: "Clients",
    icon: "plug",
    group: "Build",
    load: async () => (await import("../clients.js")).clients,
  },
  keys: {
    title: "Keys and teams",
    icon: "key-round",
    group: "Manage",
    load: async () => (await import("../keys.js")).keys,
  },
  budgets: {
    title: "Budgets",
    icon: "wallet",
    group: "Manage",
    load: async () => (await import("../budgets_page.js")).budgetsPage,
  },
  configuration: {
    title: "Configuration",
    icon: "settings-2",
    group: "Manage",
    load: async () => (await import("../configuration.js")).configuration,
  },
  fidelity: {
    title: "Fidelity",
    icon: "scale",
    group: "Manage",
    load: async () => (await import("../fidelity.js")).fidelity,
  },
  health: {
    title: "Health",
    icon: "heart-pulse",
    group: "Manage",
    load: async () => (await import("../health.js")).health,
  },
  // It is in no group, so that nothing leads to it: it is for those who work on the console.
  design: { title: "Design", icon: "boxes", load: async () => (await import("../design/gallery.js")).gallery },
};

/** The page that an address opens. */
export function pageInAddress() {
  const name = location.hash.slice(1).split("?")[0] ?? "";
  return Object.hasOwn(PAGES, name) ? name : "live";
}

/** The pages of the sidebar that steps of the guide belong to, once the gateway is set up. @type {Record<string, string>} */
const STEPS = { "": "upstreams", upstream: "upstreams", models: "models", files: "models", client: "clients" };

/**
 * The name of the page in the sidebar that an address belongs to.
 * @param {{ name: string, query: string }} address
 * @param {boolean} isFresh
 */
export function placeInSidebar({ name, query }, isFresh) {
  return name === "setup" && !isFresh ? STEPS[query] : name;
}
