/** Which tests run on Node, as data: `deno task test:node` goes by it, and the table in CONTRIBUTING.md is made of it. */

export type Folder =
  /** All run. `but`: those that do not, by their file, or by their file and a part of their names, and why. */
  | { but?: Readonly<Record<string, string>> }
  /** None runs, and why. */
  | { none: string };

const BOUND = "the bound is that of Deno's engine; up to 700 bytes a request were measured on Node";
const BROWSER = "it tells what a browser shows, which is the same on both";
const CHUNKS = "Node sends whole answers in chunks, which the test does not read";
const CLIENT = "the test's own client is Deno's";
const DENO = "it is about Deno itself";
const DENO_KV = "Node has no Deno KV: its store is SQLite";
const DENO_PROCESS = "the processes that it starts are Deno's; `tests/clients` starts those of Node";
const FORMATTED = "what it compares is formatted by Deno";
const FORM = "Node's own `Request` throws once a form that it sends is given up";
const HTTP2 = "Node's server has no HTTP/2";
const LATE_BODIES = "at its end Node waits for bodies that arrive, which Deno breaks off";
const ONCE = "what it judges does not depend on what runs it";
const TWICE = "npm installs the class of the error twice";
const UNASKED = "Node's `fetch` takes an answer 101 that nobody asked for as a lost connection";
const WS = "the library's sockets dispatch no events of others";

/** By their names in `tests/`, the longest first. */
export const NODE_FOLDERS: Readonly<Record<string, Folder>> = {
  laws: { but: { "retries_test.ts: over sockets, odd statuses are posted once": UNASKED } },
  sockets: {
    but: {
      "drain_test.ts: a request that is still being sent when the server shuts down": LATE_BODIES,
      "host_test.ts: a Host header that is no host is answered 400": CHUNKS,
      "http2_test.ts": HTTP2,
      "kept_connection_test.ts": CLIENT,
      "websocket_shares_test.ts: a client that leaves before its socket is opened":
        "Node reads a socket only once it is open",
    },
  },
  state: {
    but: {
      "kv_file_test.ts": DENO_KV,
      "kv_store_test.ts": DENO_KV,
      "continuity/store_failure_test.ts: a store that cannot be opened is tried again": DENO_KV,
      "continuity/store_failure_test.ts: a store whose path cannot be a file": "the words of the error are Deno's",
      "file_gone_test.ts: the doctor finds that the gateway": "on Node the doctor does not see it yet",
      "file_store_test.ts: a file of Deno's database": DENO_KV,
      "local_test.ts: a process that reads nothing loses": "a connection of Node takes what nobody reads",
    },
  },
  regressions: { but: { "memory_test.ts: next to nothing stays in memory": BOUND } },
  console: {
    but: {
      "browser_test.ts": BROWSER,
      "request_code_test.ts: programs in TypeScript": "Node loads no TypeScript from a text",
      "setup_real_test.ts": BROWSER,
    },
  },
  http: {
    but: {
      "auth_test.ts: over a socket: a key is accepted": CHUNKS,
      "auth_test.ts: over a socket: without keys a local host": CHUNKS,
      "descriptors_test.ts": DENO_PROCESS,
      "uploads_test.ts: a length that makes no sense counts as none": "Node's own `Request` breaks off there",
    },
  },
  inference: {
    but: {
      "admission_test.ts: so it is with a share of the machine's memory": DENO,
      "admission_test.ts: where a variable says how much memory": DENO,
    },
  },
  observe: {
    but: {
      "unread_output_test.ts: leaves whole lines only":
        "the output of a process that Node started is a socket, which takes a part of a line",
    },
  },
  plugins: {
    but: {
      "audio/endpoints_test.ts: a form that is compressed and does not say so": FORM,
      "audio/endpoints_test.ts: above the budget of uploads": FORM,
      "audio/endpoints_test.ts: the budget of uploads is as it was": FORM,
      "audio/endpoints_test.ts: who says how little is coming": FORM,
    },
  },
  upstream: {},
  sdk: { but: { "responses_ai_sdk_test.ts: an error has its status and its words": TWICE } },
  relaxations: {},
  transforms: {},
  tokens: {},
  hosted: {},
  routing: {},
  util: {
    but: {
      "short_lived_test.ts: do not take it with them into old age": "it measures the engine of Deno",
      "time_limit_test.ts: a process ends after the last of them": "Node waits for no timer of a signal",
    },
  },
  "golden_test.ts": {},
  "handle_test.ts": {},
  canonical: {},
  compose: {},
  config: {},
  context: {},
  contract: { but: { "compiled_test.ts: where no code may be made from text": DENO } },
  endpoints: {},
  fuzz: {},
  lanes: {},
  pages: {},
  socket: { but: { "socket_backpressure_test.ts: and the client learns why": WS } },
  std: {},
  support: {},
  "architecture_test.ts": { none: ONCE },
  bench: { none: DENO },
  cli: { none: DENO_PROCESS },
  clients: { none: "they run on Deno, and the gateway that they ask on Node" },
  compare: { none: ONCE },
  cost: { none: DENO },
  deploy: { none: DENO_PROCESS },
  docs: { none: ONCE },
  engines: { none: "it needs engines" },
  examples: { none: DENO_PROCESS },
  fetcher: { none: DENO_PROCESS },
  interpreter: { none: DENO_PROCESS },
  fidelity: { none: FORMATTED },
  lint: { none: DENO },
  "main_test.ts": { none: DENO_PROCESS },
  node: { none: ONCE },
  path: { none: DENO },
  platform: { none: CLIENT },
  programs: { none: DENO_PROCESS },
  providers: { none: FORMATTED },
  reliability: { none: DENO_PROCESS },
  simulation: { none: ONCE },
  site: { none: ONCE },
};

/** Whether anything of the file runs. */
export function runs(file: string): boolean {
  const { folder, path } = placeOf(file);
  return folder !== undefined && !("none" in folder) && folder.but?.[path] === undefined;
}

/** Which exception keeps the test of the file from running. */
export function exceptionFor(file: string, test: string): string | undefined {
  const { folder, path } = placeOf(file);
  if (!folder || "none" in folder) return undefined;
  return Object.keys(folder.but ?? {}).find((which) => {
    const [named, ...part] = which.split(": ");
    return named === path && part.length > 0 && test.includes(part.join(": "));
  });
}

/** A file that is in no folder is its own. */
function placeOf(file: string): { folder: Folder | undefined; path: string } {
  const [, name = "", path = ""] = /^tests\/([^/]+)(?:\/(.*))?$/.exec(file) ?? [];
  return { folder: NODE_FOLDERS[name], path: path || name };
}

/** The table for people: the folders that run whole, those that do not, and why. */
export function tableOfFolders(): string {
  const cell = (paths: readonly string[]) => paths.map((path) => `\`${path}\``).join(", ");
  const entries = Object.entries(NODE_FOLDERS);
  const whole = entries.filter(([, folder]) => !("none" in folder) && !folder.but).map(([name]) => name);
  const rows = [["tests", "on Node"], [cell(whole.sort()), "all"]];
  for (const [name, folder] of entries.sort(([a], [b]) => a < b ? -1 : 1)) {
    if (!("none" in folder) && folder.but) rows.push([cell([name]), `all but ${exceptionsIn(folder.but)}`]);
  }
  const none = Map.groupBy(entries, ([, folder]) => "none" in folder ? folder.none : "");
  none.delete("");
  for (const [reason, folders] of none) rows.push([cell(folders.map(([name]) => name)), `none: ${reason}`]);
  return table(rows);
}

/** Those of one reason stand together. */
function exceptionsIn(but: Readonly<Record<string, string>>): string {
  const byReason = Object.groupBy(Object.keys(but), (which) => but[which]!);
  return Object.entries(byReason).map(([reason, tests]) => `${filesOf(tests!)}: ${reason}`).join("; ");
}

function filesOf(tests: readonly string[]): string {
  const counts = Map.groupBy(tests, (which) => which.split(": ")[0]!);
  return [...counts].map(([file, which]) => {
    const count = which.filter((one) => one.includes(": ")).length;
    return `${count > 0 ? `${count} of ` : ""}\`${file}\``;
  }).join(", ");
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |\n`;
  const [head, ...body] = rows;
  return line(head!) + line(widths.map((width) => "-".repeat(width))) + body.map(line).join("");
}
