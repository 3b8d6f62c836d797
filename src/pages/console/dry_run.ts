/** One request through a gateway that calls nobody: its upstream answers the same every time. */
import type { JsonObject } from "../../canonical/json.ts";
import type { ExchangeOptions, FidelityRequest, Outcome } from "../../contract/fidelity.ts";
import type { StartDryRun } from "../../context/dry_run.ts";
import { createMemoryStore } from "../../state/memory_store.ts";
import { createSealing } from "../../state/seal.ts";
import { runUnsliced } from "../../util/sliced_work.ts";

interface DryRunOptions extends Pick<ExchangeOptions, "headers"> {
  startDryRun: StartDryRun;
  /** Whose wire its thoughts are sealed for. */
  client: string;
  /** A request that is answered before. */
  before?: FidelityRequest;
  /** What the upstream answers to what it is asked. */
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

/** What is sealed differs from one time to the next, and what is in it does not. */
async function unsealed(
  text: string,
  client: string,
  store: Parameters<typeof createSealing>[0]["store"],
): Promise<string> {
  // A signature of one of the wires is the same in base64.
  const plain = text.replace(/\bbHcxL[\w+/]+=*/g, atob);
  if (!plain.includes("lw1.")) return plain;
  const { sealer } = await createSealing({ store, patienceMs: 1_000, now: () => 0 })();
  return plain.replace(/lw1\.[\w-]+/g, (sealed) => {
    const opened = runUnsliced(sealer!.open(sealed, client, "local"));
    return opened ? JSON.stringify(JSON.stringify(opened)).slice(1, -1) : sealed;
  });
}
