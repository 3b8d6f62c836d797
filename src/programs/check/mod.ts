/** The command `check`: runs the conformance kit against any gateway or server. */
import { checkedWires } from "../../../plugins/programs/conformance/mod.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { ScriptedUpstream } from "../../contract/conformance.ts";
import { builtin } from "../../util/builtin.ts";
import { printable } from "../../util/printable.ts";
import { splitBaseUrl } from "../../util/urls_and_headers.ts";
import { readArguments, toHeaderName, toPort } from "../flags.ts";
import { invocation } from "../invocation.ts";
import { type Program, UsageError } from "../program.ts";
import { obstacleTo } from "./obstacle.ts";
import { countOf, junit, markdown, summary } from "./report.ts";
import { check, type Checking } from "./run.ts";

/** How long one answer may take, in milliseconds. */
const PATIENCE_MS = 120_000;
const WIRES = checkedWires.map(({ name }) => name);

const help = (program: string) =>
  `Usage: ${program} check <base URL> --model <name> [options]

Tests a gateway or a server for what clients of its wires rely on, and reports what
fails. The base URL is the part before /v1: ${"http://127.0.0.1:8000/oss"}.

  --model <name>          the model to ask
  --wire <name>           ${WIRES.join(", ")} (repeatable; default: all)
  --key-env <name>        the variable that holds the key
  --key-header <name>     the header for the key; default: authorization and x-api-key
  --upstream-port <port>  stand behind the gateway as well: a server of the chat wire
                          listens there and answers by a script, and what the gateway
                          makes of it is judged. The model has to lead to it
  --markdown <file>       write the report
  --junit <file>          write the results for CI
`;

const OPTIONS = {
  model: { type: "string" },
  wire: { type: "string", multiple: true },
  "key-env": { type: "string" },
  "key-header": { type: "string" },
  "upstream-port": { type: "string" },
  markdown: { type: "string" },
  junit: { type: "string" },
  help: { type: "boolean" },
} as const;

/** Returns the exit code: 1 if a requirement is not met. Throws `UsageError`. */
export async function runCheck(args: readonly string[], program: Program): Promise<number> {
  const { platform, streams: { print, say } } = program;
  const { values, positionals: [url, ...more] } = readArguments(args, OPTIONS);
  if (values.help) {
    print(help(invocation(platform)).trimEnd());
    return 0;
  }
  const checking = checkingOf(url, more, values, platform.env);
  const { "upstream-port": port } = values;
  const isScripted = port !== undefined;
  const obstacle = await obstacleTo(checking, { fetch: platform.fetch, say, isScripted });
  if (obstacle !== undefined) {
    say(printable(obstacle));
    return 1;
  }
  const upstream = isScripted ? serveUpstream(toPort(port), checking.model) : undefined;
  if (upstream) say(`The model's server is at ${upstream.url}`);
  try {
    const results = await check({
      ...checking,
      upstream,
      onResult: ({ wire, id, state, reasons }) =>
        print(`${state.padEnd(7)}  ${wire} ${id}${reasons.length > 0 ? `: ${printable(reasons.join("; "))}` : ""}`),
    });
    print(`\n${summary(results)}`);
    const { writeFileSync } = builtin("node:fs");
    if (values.markdown) writeFileSync(values.markdown, markdown(checking.baseUrl, checking.model, results));
    if (values.junit) writeFileSync(values.junit, junit(checking.baseUrl, results));
    return countOf(results, "failed") > 0 ? 1 : 0;
  } finally {
    await upstream?.close();
  }
}

function checkingOf(
  url: string | undefined,
  more: readonly string[],
  { model, wire = WIRES, "key-env": variable, "key-header": header }: ReturnType<
    typeof readArguments<typeof OPTIONS>
  >["values"],
  env: Program["platform"]["env"],
): Checking {
  const address = URL.parse(url ?? "");
  if (!address || more.length > 0 || !/^https?:$/.test(address.protocol)) {
    throw new UsageError("Expected the base URL of one server: check http://127.0.0.1:8000/oss");
  }
  if (model === undefined) throw new UsageError("Name the model to ask with --model");
  const unknown = wire.find((name) => !WIRES.includes(name));
  if (unknown !== undefined) throw new UsageError(`Unknown wire "${unknown}": expected ${WIRES.join(", ")}`);
  const key = variable === undefined ? undefined : env(variable);
  if (variable !== undefined && !key) throw new UsageError(`The variable ${variable} is not set here`);
  const { baseUrl, query } = splitBaseUrl(url!);
  const plain = baseUrl.replace(/\/v1$/, "");
  return { baseUrl: plain, query, model, wires: wire, key, keyHeader: toHeaderName(header), patienceMs: PATIENCE_MS };
}

/** A model server that answers by a script, as the upstream of a gateway. */
interface Served extends ScriptedUpstream {
  /** Its base URL. */
  url: string;
  close(): Promise<void>;
}

/** Listens on a port of this machine, or on any free port for 0. It lists the one model. Throws if the port is in use. */
export function serveUpstream(port: number, model: string): Served {
  const asked: JsonObject[] = [];
  let script: (() => Response)[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, onListen() {}, onError: () => new Response(null) },
    async (request) => {
      if (request.method === "GET") return Response.json({ object: "list", data: [{ id: model, object: "model" }] });
      const body: JsonValue = await request.json().catch(() => null);
      if (!new URL(request.url).pathname.endsWith("/chat/completions")) {
        return Response.json({ error: { message: "Only chat is served here", type: "not_found" } }, { status: 404 });
      }
      if (isJsonObject(body)) asked.push(body);
      const next = script.length > 1 ? script.shift() : script[0];
      return next?.() ??
        Response.json({ error: { message: "Nothing in the script", type: "server_error" } }, { status: 500 });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    asked,
    answer: (...responses) => void (script = responses),
    close: () => server.shutdown(),
  };
}
