/** What the benches run: Laneway, and the bare passthrough that it is compared with. Peers are in `peers/`. */
import { bodyFor, type Load, type Wire } from "./bodies.ts";
import { postBytes } from "./client.ts";
import { ARENAS, ENGINE } from "../../src/config/permissions.ts";
import { freePort, type Program, type Started, startProgram } from "./program.ts";

export interface Endpoint {
  path: string;
  /** What the one model is called there. */
  model: string;
  headers?: Record<string, string>;
}

export interface Gateway {
  name: string;
  /** The wires of clients that it serves, in front of an upstream that speaks chat. */
  wires: Partial<Record<Wire, Endpoint>>;
  /** How it is started in front of `upstream`, on `port`, with an empty folder for its files. */
  program(upstream: string, port: number, folder: string): Promise<Program>;
  deadlineMs?: number;
}

/** A gateway that runs, asked on one of its wires. */
export interface Subject {
  name: string;
  gateway: Gateway;
  wire: Wire;
  server: Started;
}

const BENCH = (name: string) => new URL(name, import.meta.url).pathname;
const DENO = Deno.execPath();
const RUN = ["run", "--allow-all", "--no-lock", "--quiet"];
/** Collects garbage when it gets SIGUSR2, where V8 exposes that. */
const COLLECTS = ["--preload", BENCH("./collect_on_signal.ts")];

export const BARE: Gateway = {
  name: "bare",
  wires: { chat: { path: "/v1/chat/completions", model: "bench" } },
  program: (upstream, port) =>
    Promise.resolve({
      command: DENO,
      args: [...RUN, "--v8-flags=--expose-gc", ...COLLECTS, BENCH("./passthrough.ts"), upstream, String(port)],
    }),
};

/** How Laneway is started: the program alone, as a service does, ready to collect garbage or not; or as the documents say. */
type Entry = "main.ts that collects" | "main.ts" | "deno task -q laneway";

const LANEWAY_WIRES: Gateway["wires"] = {
  chat: { path: "/oss/v1/chat/completions", model: "bench" },
  messages: { path: "/oss/v1/messages", model: "bench" },
  responses: { path: "/oss/v1/responses", model: "bench" },
};

export function laneway(
  name = "Laneway",
  upstreamOptions: object = {},
  entry: Entry = "main.ts that collects",
): Gateway {
  return {
    name,
    wires: LANEWAY_WIRES,
    async program(upstream, port, folder) {
      const config = `${folder}/gateway.json`;
      await Deno.writeTextFile(config, JSON.stringify(lanewayConfig(upstream, folder, upstreamOptions)));
      const options = ["--config", config, "--port", String(port)];
      if (entry === "deno task -q laneway") {
        return { command: DENO, args: ["task", "-q", "laneway", ...options], cwd: BENCH("../../") };
      }
      const engine = entry === "main.ts" ? [ENGINE] : [`${ENGINE},--expose-gc`, ...COLLECTS];
      return { command: DENO, args: [...RUN, ...engine, BENCH("../../src/main.ts"), ...options], env: ARENAS };
    },
  };
}

/** Its lane has the model `bench`, and one for each other task and kind of upstream. */
export function lanewayConfig(upstream: string, folder: string, upstreamOptions: object = {}): object {
  const model = (task: string, upstream = "fake") => ({ task, targets: [{ upstream, model: "bench" }] });
  return {
    upstreams: {
      fake: { driver: "chat", baseUrl: `${upstream}/v1`, batch: 2_048, ...upstreamOptions },
      hub: { driver: "hub", baseUrl: `${upstream}/hub` },
      fal: { driver: "fal", baseUrl: `${upstream}/fal` },
    },
    lanes: {
      oss: {
        models: {
          bench: model("chat"),
          embedding: model("embedding"),
          "hub-embedding": model("embedding", "hub"),
          speech: model("speech"),
          transcription: model("transcription"),
          "fal-transcription": model("transcription", "fal"),
        },
      },
    },
    store: { path: `${folder}/store.sqlite3` },
  };
}

export async function startGateway(gateway: Gateway, upstream: string): Promise<Started> {
  const folder = await Deno.makeTempDir({ prefix: "laneway-bench-" });
  const port = freePort();
  const program = await gateway.program(upstream, port, folder);
  const wire = Object.keys(gateway.wires)[0] as Wire;
  const request = (origin: string) => requestTo(gateway, wire, origin, { bytes: 1_000 });
  return await startProgram(program, port, request, { deadlineMs: gateway.deadlineMs, folder });
}

/** The upstream of them all. */
export async function startUpstream(): Promise<Started> {
  const port = freePort();
  const program = { command: DENO, args: [...RUN, BENCH("./fake_upstream.ts"), String(port)] };
  return await startProgram(program, port, (origin) => requestTo(BARE, "chat", origin, { bytes: 1_000 }));
}

/** The bytes of a request for `load`. */
export function requestTo({ wires }: Gateway, wire: Wire, origin: string, load: Load): Uint8Array {
  const { path, model, headers } = wires[wire]!;
  return postBytes(origin + path, bodyFor(wire, load, model), headers);
}
