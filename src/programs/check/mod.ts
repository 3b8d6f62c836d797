/** The command `check`: runs the conformance kit against any gateway or server. */
import { checkedWires } from "../../../plugins/programs/conformance/mod.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { ScriptedUpstream } from "../../contract/conformance.ts";
import { builtin } from "../../util/builtin.ts";
import { printable } from "../../util/printable.ts";
import { splitBaseUrl } from "../../util/urls_and_headers.ts";
import { CHECK } from "../commands/mod.ts";
import { readArguments, toHeaderName, toPort } from "../flags.ts";
import { printJson } from "../json_output.ts";
import { CommandError, type Program, UsageError } from "../program.ts";
import { withProgress } from "../progress.ts";
import { obstacleTo } from "./obstacle.ts";
import { type CheckResult, countOf, junit, markdown, summaryByWire } from "./report.ts";
import { check, type Checking, countOfCases } from "./run.ts";
import { serveHere } from "../../platform/here.ts";

/** How long one answer may take, in milliseconds. */
const PATIENCE_MS = 120_000;
const WIRES = checkedWires.map(({ name }) => name);

/** Returns the exit code: 1 if a requirement is not met. Throws `UsageError`. */
export async function runCheck(args: readonly string[], program: Program): Promise<number> {
  const { platform, streams: { print, say } } = program;
  const { values, positionals: [url, ...more] } = readArguments(args, CHECK.options);
  const checking = checkingOf(url, more, values, platform.env);
  const { "upstream-port": port } = values;
  const isScripted = port !== undefined;
  const obstacle = await obstacleTo(checking, { fetch: platform.fetch, say, isScripted });
  if (obstacle !== undefined) throw new CommandError(printable(obstacle));
  const upstream = isScripted ? await serveUpstream(toPort(port), checking.model) : undefined;
  if (upstream) say(`The model's server is at ${upstream.url}`);
  try {
    const results = await runShown({ ...checking, upstream }, program, values.json ?? false);
    const [passed, failed, skipped] = (["passed", "failed", "skipped"] as const).map((state) =>
      countOf(results, state)
    );
    const { baseUrl, model } = checking;
    if (values.json) printJson(program.streams, { ok: failed === 0, baseUrl, model, passed, failed, skipped, results });
    else print(`\n${summaryByWire(results)}`);
    const { writeFileSync } = builtin("node:fs");
    if (values.markdown) writeFileSync(values.markdown, markdown(checking.baseUrl, checking.model, results));
    if (values.junit) writeFileSync(values.junit, junit(checking.baseUrl, results));
    return countOf(results, "failed") > 0 ? 1 : 0;
  } finally {
    await upstream?.close();
  }
}

/** Runs the kit, and tells on a terminal how far it is. */
function runShown(checking: Checking, program: Program, isQuiet: boolean): Promise<CheckResult[]> {
  const { streams: { print } } = program;
  const count = countOfCases(checking);
  return withProgress(program, `Requirement 1 of ${count}`, (show, aside) => {
    let done = 0;
    return check({
      ...checking,
      async onResult({ wire, id, state, reasons }) {
        const line = `${state.padEnd(7)}  ${wire} ${id}${
          reasons.length > 0 ? `: ${printable(reasons.join("; "))}` : ""
        }`;
        if (!isQuiet) await aside(() => print(line));
        if (++done < count) show(`Requirement ${done + 1} of ${count}`);
      },
    });
  });
}

function checkingOf(
  url: string | undefined,
  more: readonly string[],
  { model, wire = WIRES, "key-env": variable, "key-header": header }: ReturnType<
    typeof readArguments<typeof CHECK.options>
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
export async function serveUpstream(port: number, model: string): Promise<Served> {
  const asked: JsonObject[] = [];
  let script: (() => Response)[] = [];
  const server = await serveHere({
    port,
    onError: () => new Response(null),
    async handler(request) {
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
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    asked,
    answer: (...responses) => void (script = responses),
    close: () => server.shutdown(),
  };
}
