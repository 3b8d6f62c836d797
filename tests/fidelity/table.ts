/** The fidelity table as data, and as Markdown. */
import { ANSWERS } from "../../plugins/programs/fidelity/answers.ts";
import { REQUESTS } from "../../plugins/programs/fidelity/mod.ts";
import {
  type Client,
  CLIENTS,
  type Sample,
  UPSTREAM_WIRES,
  type UpstreamWire,
} from "../../plugins/programs/fidelity/sample.ts";
import { type Verdict, verdictOn, verdictOnAnswer } from "../../plugins/programs/fidelity/verdict.ts";
import { inWords } from "../../plugins/programs/fidelity/mod.ts";
import { renderCompletions } from "./completions_table.ts";
import { renderDecisions } from "./decisions_table.ts";
import { renderRelaxations } from "./relaxations.ts";
import { exchangeWith, type UpstreamKind, UPSTREAMS } from "./exchange.ts";

export interface Row<Column extends string> {
  field: string;
  verdicts: Record<Column, Verdict>;
}

/** What becomes of every field of a client's request, at each upstream. */
export function rowsOf(client: Client): Promise<Row<UpstreamKind>[]> {
  return rows(REQUESTS[client], UPSTREAMS, (sample, to) => verdictOn(sample, client, exchangeWith(to)));
}

/** What becomes of every field of an upstream's answer, for each client. */
export function rowsOfAnswers(from: UpstreamWire): Promise<Row<Client>[]> {
  return rows(ANSWERS[from], CLIENTS, (sample, client) => verdictOnAnswer(sample, from, client, exchangeWith(from)));
}

async function rows<Column extends string>(
  samples: readonly Sample[],
  columns: readonly Column[],
  judge: (sample: Sample, column: Column) => Promise<Verdict>,
): Promise<Row<Column>[]> {
  const found: Row<Column>[] = [];
  for (const sample of samples) {
    const verdicts = columns.map(async (column) => [column, await judge(sample, column)] as const);
    found.push({
      field: sample.field,
      verdicts: Object.fromEntries(await Promise.all(verdicts)) as Row<Column>["verdicts"],
    });
  }
  return found;
}

const NAMES: Record<Client | UpstreamWire, string> = {
  messages: "Messages",
  chat: "Chat completions",
  responses: "Responses",
  ollama: "Ollama",
  gemini: "Gemini",
};
const TO: Record<UpstreamKind, string> = {
  chat: "to chat",
  messages: "to messages",
  responses: "to responses",
  vendor: "to responses, OpenAI's models",
};
const FOR: Record<Client, string> = {
  chat: "for chat",
  messages: "for messages",
  responses: "for responses",
  ollama: "for Ollama's clients",
  gemini: "for Gemini's clients",
};

/** Requests first. */
export async function renderTables(): Promise<string> {
  const tables: string[] = [];
  for (const client of CLIENTS) tables.push(render(`${NAMES[client]}: requests`, TO, await rowsOf(client)));
  for (const from of UPSTREAM_WIRES) {
    tables.push(render(`${NAMES[from]}: answers of upstreams`, FOR, await rowsOfAnswers(from)));
  }
  tables.push(`## Completions\n\n${COMPLETIONS}\n\n${await renderCompletions()}`);
  tables.push(`## Decisions\n\n${DECISIONS}\n\n${await renderDecisions()}`);
  tables.push(`## What is given up where a host refuses it\n\n${REFUSED}\n\n${renderRelaxations()}`);
  return tables.join("\n\n");
}

const COMPLETIONS =
  "The columns are the kinds of servers that continue texts, by the setting [`completions`](features.md#completions). All " +
  "requests fill a gap.";

const DECISIONS =
  "The columns are the kinds of servers that answer questions, by the setting [`decisions`](features.md#decisions). At " +
  "`tool`, requests are those of `schema` with a tool in its place.";

const REFUSED =
  "An upstream may refuse a part of what goes to it. Then the request is sent again without that part, with a note " +
  "(`relaxed tools[].pattern: refused by llama`), and in strict mode it is refused. [Relaxations](decisions/relaxations.md) " +
  "says how the part is found and remembered.";

function render<Column extends string>(
  title: string,
  titles: Record<Column, string>,
  rows: readonly Row<Column>[],
): string {
  const columns = Object.keys(titles) as Column[];
  const lines = [
    ["field", ...columns.map((column) => titles[column])],
    ["---", ...columns.map(() => "---")],
    ...rows.map(({ field, verdicts }) => [`\`${field}\``, ...columns.map((column) => inWords(verdicts[column]))]),
  ].map((cells) => `| ${cells.join(" | ")} |`);
  return `<details><summary>${title} (${rows.length} fields)</summary>\n\n${lines.join("\n")}\n\n</details>`;
}
