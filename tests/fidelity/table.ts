/** The fidelity table as data, and as Markdown. */
import { CHAT_REQUESTS } from "./chat_requests.ts";
import { type UpstreamKind, UPSTREAMS } from "./exchange.ts";
import { MESSAGES_REQUESTS } from "./messages_requests.ts";
import { RESPONSES_REQUESTS } from "./responses_requests.ts";
import type { Sample, Wire } from "./sample.ts";
import { type Place, type Verdict, verdictOn } from "./verdict.ts";

export const REQUESTS: Record<Wire, readonly Sample[]> = {
  messages: MESSAGES_REQUESTS,
  chat: CHAT_REQUESTS,
  responses: RESPONSES_REQUESTS,
};

export interface Row {
  field: string;
  verdicts: Record<UpstreamKind, Verdict>;
}

/** What becomes of every field of a client's request, at each upstream. */
export async function rowsOf(client: Wire): Promise<Row[]> {
  const rows: Row[] = [];
  for (const sample of REQUESTS[client]) {
    const verdicts = UPSTREAMS.map(async (to) => [to, await verdictOn(sample, client, to)] as const);
    rows.push({ field: sample.field, verdicts: Object.fromEntries(await Promise.all(verdicts)) as Row["verdicts"] });
  }
  return rows;
}

const CLIENTS: Record<Wire, string> = {
  messages: "Messages",
  chat: "Chat completions",
  responses: "Responses",
};
const COLUMNS: Record<UpstreamKind, string> = {
  chat: "to chat",
  messages: "to messages",
  responses: "to responses",
  vendor: "to responses, OpenAI's models",
};

export async function renderTables(): Promise<string> {
  const tables: string[] = [];
  for (const client of ["messages", "chat", "responses"] as const) {
    tables.push(renderTable(`${CLIENTS[client]}: requests`, await rowsOf(client)));
  }
  return tables.join("\n\n");
}

function renderTable(title: string, rows: readonly Row[]): string {
  const lines = [
    ["field", ...UPSTREAMS.map((upstream) => COLUMNS[upstream])],
    ["---", ...UPSTREAMS.map(() => "---")],
    ...rows.map(({ field, verdicts }) => [cellOf(field), ...UPSTREAMS.map((upstream) => inWords(verdicts[upstream]))]),
  ].map((cells) => `| ${cells.join(" | ")} |`);
  return `<details><summary>${title} (${rows.length} fields)</summary>\n\n${lines.join("\n")}\n\n</details>`;
}

function cellOf(field: string): string {
  return `\`${field}\``;
}

/** More places than these say no more. */
const MOST_PLACES = 3;

function inPlaces(places: readonly Place[]): string {
  const told = places.filter(({ gone }) => !gone).map(({ name }) => name);
  const gone = places.filter(({ gone }) => gone).map(({ name }) => `without ${name}`);
  const shown = [...told.length > 0 ? [`as ${told[0]}`, ...told.slice(1)] : [], ...gone];
  return (shown.length > MOST_PLACES ? [...shown.slice(0, MOST_PLACES), "…"] : shown).join(", ");
}

function inWords(verdict: Verdict): string {
  switch (verdict.is) {
    case "carried":
      return verdict.notes.length > 0 ? "carried, noted" : "carried";
    case "mapped":
      return inPlaces(verdict.to) + (verdict.notes.length > 0 ? "; noted" : "");
    case "dropped":
    case "refused":
    case "answered":
      return verdict.is;
    case "idle":
      return "–";
    case "silent":
      return "**lost**";
    default:
      return verdict satisfies never;
  }
}
