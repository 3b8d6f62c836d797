/** The page of this gateway's health: its figures, and the checks of the command `doctor`. */
import { z } from "zod";
import manifest from "../../../deno.json" with { type: "json" };
import { isJsonObject, type JsonObject } from "../../canonical/json.ts";
import type { Examining, HealthPart, SetupDesk } from "../../context/setup.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import { recallAll } from "../../upstream/learnt.ts";
import { untilAborted } from "../../util/abort.ts";
import { Slots } from "../../util/shares.ts";
import { processStatus } from "../worker_report.ts";
import { EMBEDDED, sessionOf, whyNot } from "./setup.ts";

/** The figures of the gateway, which are known without a check. */
export async function health(context: RequestContext): Promise<Response> {
  const { gateway } = context;
  const { process: { workers, shared }, guards: { loadShedder, limits }, clocks: { now } } = gateway;
  const { health, setupDesk: desk } = await gateway.console!.parts();
  await recallAll(gateway.upstreams.values());
  const { upstreams, ...status } = processStatus(gateway);
  const all = workers && (await import("../workers_together.ts")).statusOfAll(gateway, workers);
  const memoryLimit = loadShedder.limitBytes(limits);
  return Response.json({
    ...status,
    version: manifest.version,
    startedAt: new Date(now() - performance.now()).toISOString(),
    mostRequests: limits.concurrentRequests,
    // A program may set none.
    ...memoryLimit < Number.MAX_SAFE_INTEGER && { memoryLimit },
    waiting: upstreams.reduce((sum, { waiting = 0 }) => sum + waiting, 0),
    store: health.place,
    storeLoss: health.loss() && context.hide(health.loss()!),
    ...shared && { gateways: shared.gateways, isAlone: shared.isAlone() },
    ...await all,
    // The refusals and the rests of this process: each can be taken back here.
    upstreams: upstreams.map(({ name, resting, refused }) => ({ name, resting, refused })),
    command: desk?.command,
    ...!desk && { why: EMBEDDED },
  });
}

const PARTS = ["configuration", "machine", "login", "upstreams", "models", "clients"] as const;
const examineSchema = z.strictObject({
  parts: z.array(z.enum(PARTS)).min(1).max(PARTS.length),
  lane: z.string().max(200).optional(),
  model: z.string().max(300).optional(),
});

/** How long all checks may take, in milliseconds. Models take longest. */
const PATIENCE_MS = 600_000;
/** Two pages at once would ask the same upstreams twice. Those that take long keep no others waiting. */
const slots = { quick: new Slots(1), long: new Slots(1) };

/** Runs the checks, whose findings are lines of JSON as they are made. They end when nobody reads them any more. */
export async function examine(context: RequestContext, body: JsonObject): Promise<Response> {
  const { parts, lane, model } = validate(examineSchema, body);
  const { gateway, caller, hide } = context;
  const { health: { store }, setupDesk: desk } = await gateway.console!.parts();
  if (!desk) throw new GatewayError("unsupported", EMBEDDED);
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, context.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const encoder = new TextEncoder();
  const lines = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async start(controller) {
      const write = (line: object) => {
        if (!leaving.signal.aborted) controller.enqueue(encoder.encode(`${hide(JSON.stringify(line))}\n`));
      };
      const how = { only: { lane, model }, store, signal, tell: tellBy(write) };
      try {
        const work = () => untilAborted(examineAll([...new Set(parts)], how, desk, context), signal);
        await slots[parts.includes("models") ? "long" : "quick"].run(caller.owner, signal, work);
      } catch (thrown) {
        write({ failure: signal.aborted ? "The checks took too long" : (thrown as Error).message });
      }
      if (!leaving.signal.aborted) controller.close();
    },
    cancel: () => leaving.abort(),
  });
  return new Response(lines, { headers: { "content-type": "application/x-ndjson" } });
}

type Line = { part: HealthPart; findings: readonly object[]; isOver: boolean };

function tellBy(write: (line: Line) => void): Examining["tell"] {
  return (part, findings, isOver) => write({ part, findings, isOver });
}

async function examineAll(
  parts: readonly HealthPart[],
  how: Omit<Examining, "parts">,
  desk: SetupDesk,
  context: RequestContext,
): Promise<void> {
  const own = parts.filter((part) => part !== "clients");
  await Promise.all([
    own.length > 0 && desk.examine({ ...how, parts: own }),
    own.length < parts.length && examineClients(how, desk, context),
  ]);
}

/** The settings of clients are files that the gateway may not read, so the launcher runs the command. */
async function examineClients({ tell, signal }: Omit<Examining, "parts">, desk: SetupDesk, context: RequestContext) {
  const skipped = (message: string) => {
    const cure = `In the gateway's folder, type: ${desk.command} doctor --part clients`;
    const finding = { level: "skipped", check: "clients-not-read", subject: "clients", message, cure };
    tell("clients", [finding], true);
  };
  const why = whyNot(desk, context);
  if (why !== undefined) return skipped(why);
  try {
    context.gateway.observe.audit?.write({ event: "command run", command: "doctor", by: context.caller.name });
    const printed = await desk.run({ do: "examine" }, sessionOf(context), signal);
    const found = isJsonObject(printed) && Array.isArray(printed.findings) ? printed.findings.filter(isJsonObject) : [];
    // The command repeats why the configuration cannot be used, which another check says.
    tell("clients", found.filter(({ subject }) => /^client/.test(String(subject))), true);
  } catch (thrown) {
    signal.throwIfAborted();
    skipped((thrown as Error).message);
  }
}
