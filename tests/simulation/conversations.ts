/** The conversations of a simulated world that have ids of their own: each has several requests of one key. */
import type { App } from "../../src/app.ts";
import { gotOf, keptId, type Received, requestAs } from "./client.ts";
import { type Facts, mayEndEarly, saidBy, Violation } from "./invariants.ts";
import type { Ask } from "./schedule.ts";

/** Asks a gateway, and waits for what it says. */
type Get = (key: string, path: string, gateway?: number) => Promise<{ status: number; text: string }>;

export class Conversations {
  readonly #ids = new Map<string, { key: string; id: Promise<string | undefined> }>();

  /** The id of the one that this request belongs to. The first that asks creates it. Absent if that failed. */
  async idFor({ key, conversation }: Ask, gateway: () => App): Promise<string | undefined> {
    if (conversation === undefined) return undefined;
    const name = `${key}${conversation}`;
    const known = this.#ids.get(name);
    const id = await known?.id;
    if (id !== undefined) return id;
    // Another request may have begun it meanwhile.
    const latest = this.#ids.get(name);
    if (latest !== known) return await latest!.id;
    const created = create(key, gateway());
    this.#ids.set(name, { key, id: created });
    return await created;
  }

  /** Each has what was answered in it, once and in one piece, and nothing else, for its owner alone. */
  async check(get: Get, facts: Facts): Promise<void> {
    for (const { key, id: promised } of this.#ids.values()) {
      const id = await promised;
      if (id === undefined) continue;
      const path = `/oss/v1/conversations/${id}`;
      const { status } = await get(key === "anna" ? "bert" : "anna", path);
      if (status !== 404) throw new Violation("stored", `conversation ${id} is seen by another: ${status}`);
      const items = await itemsOf(key, path, get);
      for (const received of facts.received) {
        if (received.conversation?.id === id) checkItems(received, items, facts);
        else if (items.some((item) => item.includes(`#${received.ask.id} Hello`))) {
          throw new Violation("stored", `conversation ${id} has request ${received.ask.id}, which is not of it`);
        }
      }
    }
  }
}

async function create(key: string, app: App): Promise<string | undefined> {
  const response = await app.fetch(requestAs(key, "/oss/v1/conversations", { method: "POST", body: "{}" }))
    .catch(() => undefined);
  const text = await response?.text().catch(() => "");
  return response?.status === 200 && text ? JSON.parse(text).id : undefined;
}

async function itemsOf(key: string, path: string, get: Get): Promise<string[]> {
  const items: string[] = [];
  for (let after = "";;) {
    const { status, text } = await get(key, `${path}/items?order=asc&limit=100${after}`);
    if (status !== 200) throw new Violation("stored", `the items of ${path} are lost: ${status} ${text}`);
    const { data, has_more, last_id } = JSON.parse(text);
    for (const item of data) items.push(JSON.stringify(item));
    if (!has_more) return items;
    after = `&after=${last_id}`;
  }
}

function checkItems(received: Received, items: readonly string[], facts: Facts): void {
  const { calls, isTroubled, hasCrashed } = facts;
  const { ask } = received;
  const places = items.flatMap((item, at) => item.includes(`#${ask.id} Hello`) ? [at] : []);
  const [place] = places;
  if (places.length > 1) {
    throw new Violation("stored", `request ${ask.id} is ${places.length} times in its conversation`);
  }
  if (place === undefined) {
    if (isTroubled || hasCrashed || keptId(received) === undefined) return;
    throw new Violation("stored", `request ${ask.id} is not in its conversation`);
  }
  const next = items.findIndex((item, at) => at > place && /#\d+ Hello/.test(item));
  const own = items.slice(place, next < 0 ? undefined : next).join("\n");
  const { texts } = saidBy(ask, calls.filter((call) => call.ask === ask.id));
  const got = mayEndEarly(ask, facts) ? gotOf(received).text : undefined;
  const due = texts.filter((text) => got === undefined || got.includes(text));
  const missing = due.find((text) => !own.includes(JSON.stringify(text).slice(1, -1)));
  if (missing !== undefined) throw new Violation("stored", `request ${ask.id}: ${missing} is not in ${own}`);
}
