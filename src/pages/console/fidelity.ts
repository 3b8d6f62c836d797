/**
 * The fidelity table of one model. Each field of a wire is sent through a copy of the gateway that calls no upstream.
 */
import type { JsonObject } from "../../canonical/json.ts";
import type { StartDryRun } from "../../context/dry_run.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { RequestContext } from "../../context/request_context.ts";
import type { Exchange, ExchangeOptions, FidelityRequest, FidelityRow, Outcome } from "../../contract/fidelity.ts";
import type { PlannedTarget } from "../../contract/planned_target.ts";
import { GatewayError } from "../../errors.ts";
import { findLane, resolve } from "../../inference/resolve.ts";
import { createMemoryStore } from "../../state/memory_store.ts";
import { createSealing } from "../../state/seal.ts";
import { BoundedMap } from "../../util/bounded_map.ts";
import { runUnsliced, yieldToEventLoop } from "../../util/sliced_work.ts";

interface Table {
  target: string;
  /** The wire of the upstream. */
  wire: string;
  requests: FidelityRow[];
  answers: FidelityRow[];
}

/** The tables. One takes a second of work, so it is kept, and only one is made at a time. */
const tables = new WeakMap<Gateway, BoundedMap<string, Promise<Table>>>();
let latest: Promise<unknown> = Promise.resolve();

/**
 * `?lane=&model=&client=`: the fate of each field of the client's requests, and of each field of the answers to the
 * client.
 */
export async function fidelity(context: RequestContext): Promise<Response> {
  const { gateway, url } = context;
  const asked = (name: string) => url?.searchParams.get(name) ?? "";
  const [laneName, model, client] = [asked("lane"), asked("model"), asked("client")];
  const { clients } = await gateway.console!.dryRuns.tables();
  if (client === "") return Response.json({ clients });
  if (!clients.includes(client)) throw new GatewayError("invalid_request", `Cannot find wire "${client}"`);
  const lane = findLane(laneName, context);
  // This comes first, because it checks that this caller may use the model.
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
  const dryRuns = gateway.console!.dryRuns;
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

/** A request through a copy of the gateway that calls no upstream. `answerTo` answers in its place. */
interface DryRunOptions extends Pick<ExchangeOptions, "headers"> {
  startDryRun: StartDryRun;
  /** The wire that reasoning is sealed for. */
  client: string;
  /** A request that is sent first. */
  before?: FidelityRequest;
  /** The upstream's answer to a request. */
  answerTo(asked: JsonObject): JsonObject;
}

export async function dryRun(
  request: FidelityRequest,
  { startDryRun, client, before, headers = {}, answerTo }: DryRunOptions,
): Promise<Outcome> {
  const asked: NonNullable<Outcome["asked"]>[] = [];
  const store = createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
  let notes: readonly string[] = [];
  const app = startDryRun({
    store,
    async fetch(input, init) {
      const call = new Request(input, init);
      const body = JSON.parse(await call.text()) as JsonObject;
      asked.push({ body, headers: Object.fromEntries(call.headers) });
      return Response.json(answerTo(body));
    },
    log: (entry) => void (notes = entry.notes ?? []),
  });
  const post = ({ path, headers: own, body }: FidelityRequest, more: Record<string, string> = {}) =>
    app.fetch(
      new Request(`http://gateway${path}`, {
        method: "POST",
        headers: { ...own, ...more },
        body: JSON.stringify(body),
      }),
    );
  if (before) await (await post(before, headers)).text();
  asked.length = 0;
  const response = await post(request, headers);
  const text = await unsealed(await response.text(), client, store);
  await app.settled();
  const isJson = /\/json\b/.test(response.headers.get("content-type") ?? "");
  const [call] = asked;
  return { status: response.status, ...(call && { asked: call }), answer: isJson ? JSON.parse(text) : text, notes };
}

/** Replaces sealed texts by their content. A sealed text is different every time, but its content is not. */
async function unsealed(
  text: string,
  client: string,
  store: Parameters<typeof createSealing>[0]["store"],
): Promise<string> {
  // The signatures of one wire hold the sealed text in base64.
  const plain = text.replace(/\bbHcxL[\w+/]+=*/g, atob);
  if (!plain.includes("lw1.")) return plain;
  const { sealer } = await createSealing({ store, patienceMs: 1_000, now: () => 0 })();
  return plain.replace(/lw1\.[\w-]+/g, (sealed) => {
    const opened = runUnsliced(sealer!.open(sealed, client, "local"));
    return opened ? JSON.stringify(JSON.stringify(opened)).slice(1, -1) : sealed;
  });
}
