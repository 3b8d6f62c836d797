/** What each wire keeps for one model: its fields are sent through a copy of the gateway, which calls nobody. */
import type { JsonObject } from "../../canonical/json.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { RequestContext } from "../../context/request_context.ts";
import type { PlannedTarget } from "../../contract/planned_target.ts";
import type { Exchange, FidelityRow, Outcome } from "../../contract/fidelity.ts";
import { GatewayError } from "../../errors.ts";
import { BoundedMap } from "../../util/bounded_map.ts";
import { yieldToEventLoop } from "../../util/sliced_work.ts";
import { findLane, resolve } from "../../inference/resolve.ts";
import { dryRun } from "./dry_run.ts";

interface Table {
  target: string;
  /** The wire of the upstream. */
  wire: string;
  requests: FidelityRow[];
  answers: FidelityRow[];
}

/** Each takes a second of work: two look at one, and one is made at a time. */
const tables = new WeakMap<Gateway, BoundedMap<string, Promise<Table>>>();
let latest: Promise<unknown> = Promise.resolve();

/** `?lane=&model=&client=`: what becomes of each field of the client's requests, and of each field of the answers to it. */
export async function fidelity(context: RequestContext): Promise<Response> {
  const { gateway, url } = context;
  const asked = (name: string) => url?.searchParams.get(name) ?? "";
  const [laneName, model, client] = [asked("lane"), asked("model"), asked("client")];
  const { clients } = await gateway.dryRuns!.tables();
  if (client === "") return Response.json({ clients });
  if (!clients.includes(client)) throw new GatewayError("invalid_request", `Cannot find wire "${client}"`);
  const lane = findLane(laneName, context);
  // First, because the caller may not be the one that a table was made for.
  const { targets: [target] } = await resolve("generate", model, lane, context);
  const known = tables.get(gateway) ?? new BoundedMap<string, Promise<Table>>(50);
  tables.set(gateway, known);
  const key = JSON.stringify([lane.name, model, client]);
  const table = known.get(key) ?? queued(() => tableOf({ lane: lane.name, model }, target, client, gateway));
  known.set(key, table);
  try {
    return Response.json({ clients, ...await table });
  } catch (thrown) {
    known.delete(key);
    throw thrown;
  }
}

function queued<T>(make: () => Promise<T>): Promise<T> {
  const made = latest.then(make);
  latest = made.catch(() => {});
  return made;
}

async function tableOf(
  place: { lane: string; model: string },
  target: PlannedTarget | undefined,
  client: string,
  gateway: Gateway,
): Promise<Table> {
  const dryRuns = gateway.dryRuns!;
  const { lane, model } = place;
  const driver = target && gateway.drivers.get(target.driver ?? gateway.upstreams.get(target.upstream)!.driver.name);
  const tables = await dryRuns.tables();
  const wire = driver?.wire ?? "";
  if (!target || !tables.answer(wire, {})) {
    throw new GatewayError("unsupported", `There is no table for "${model}": its upstream has its own wire`);
  }
  const startDryRun = dryRuns.of(lane, model, target);
  const made = new BoundedMap<string, Promise<Outcome>>(50);
  const exchange: Exchange = (client, body, { headers, before, answer } = {}) => {
    const key = JSON.stringify([body, headers, before, answer]);
    const outcome = made.get(key) ?? dryRun(tables.request(client, place, body), {
      startDryRun,
      client,
      headers,
      before: before && tables.request(client, place, before),
      answerTo: (asked: JsonObject) => answer ?? tables.answer(wire, asked)!,
    });
    made.set(key, outcome);
    return outcome;
  };
  const { requests, answers } = tables.rows(client, wire, exchange);
  return {
    target: `${target.upstream}/${target.model}`,
    wire,
    requests: await collected(requests),
    answers: await collected(answers),
  };
}

async function collected(rows: AsyncIterable<FidelityRow>): Promise<FidelityRow[]> {
  const all: FidelityRow[] = [];
  for await (const row of rows) {
    all.push(row);
    await yieldToEventLoop();
  }
  return all;
}
