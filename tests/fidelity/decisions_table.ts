/** Every field of a request for decisions, and what becomes of it at each kind of server, as `explain` says it. */
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { configFor, type Setup } from "../support/decisions.ts";

const SETUPS = ["list", "plain-list", "list-by-id", "systemone", "logprobs", "schema"] as const satisfies Setup[];

interface Client {
  title: string;
  path: string;
  /** The smallest request. */
  base: JsonObject;
  /** Each field with a value that has `MARK` somewhere. */
  samples: Record<string, JsonObject>;
}

const MARK = "Zebra";
const IMAGE = "https://images.test/Zebra.png";
const user = (...content: JsonObject[]): JsonObject => ({ input: [{ role: "user", content }] });
const asking = (question: JsonObject): JsonObject => ({ questions: [question] });
const PREDICATE = { type: "predicate", instructions: "Is it?" };
const YES_NO = { id: "one", type: "yes_no", question: "Is it?" };
const NOUL = { type: "noul", instructions: "Is it?" };

const DECISION_CLIENTS: readonly Client[] = [
  {
    title: "Decisions",
    path: "/oss/v1/decisions",
    base: { input: "x", questions: [PREDICATE] },
    samples: {
      "input": { input: MARK },
      "input[].role: system": { input: [{ role: "system", content: MARK }] },
      "input[].role: assistant": { input: [{ role: "assistant", content: MARK }, { role: "user", content: "x" }] },
      "input_text": user({ type: "input_text", text: MARK }),
      "input_json": user({ type: "input_json", data: { a: MARK } }),
      "input_image": user({ type: "input_image", image_url: IMAGE }),
      "function_call_output": {
        input: [
          { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
          { type: "function_call_output", call_id: "c", output: MARK },
        ],
      },
      "questions[].name": asking({ ...PREDICATE, name: MARK }),
      "questions[].instructions": asking({ ...PREDICATE, instructions: MARK }),
      "questions[].choices": asking({ ...PREDICATE, type: "choice", choices: [{ value: MARK }, { value: true }] }),
      "questions[].choices[].description": asking({
        ...PREDICATE,
        type: "choice",
        choices: [{ value: "a", description: MARK }, { value: "b" }],
      }),
      "questions[].levels": asking({ ...PREDICATE, type: "score", levels: [{ label: MARK }, { label: "b" }] }),
      "prompt_cache_key": { prompt_cache_key: MARK },
      "safety_identifier": { safety_identifier: MARK },
    },
  },
  {
    title: "Decisions whose questions have ids",
    path: "/oss/v1/decisions",
    base: { input: "x", questions: [YES_NO] },
    samples: {
      "input: {}": { input: { a: MARK } },
      "images": { images: [IMAGE] },
      "questions[].id": asking({ ...YES_NO, id: MARK }),
      "questions[].question": asking({ ...YES_NO, question: MARK }),
      "questions[].yes": asking({ ...YES_NO, yes: MARK }),
      "questions[].options": asking({ ...YES_NO, type: "choice", options: [{ name: MARK }, { name: "b" }] }),
      "questions[].levels": asking({ ...YES_NO, type: "score", levels: [MARK, "b"] }),
      "temperature": { temperature: 0.5, note: MARK },
    },
  },
  {
    title: "System One",
    path: "/oss/v1/systemone",
    base: { state: "x", questions: { one: NOUL } },
    samples: {
      "state": { state: MARK },
      "state: {}": { state: { a: MARK } },
      "instructions": { instructions: MARK },
      "images": { images: [IMAGE] },
      "questions.*.instructions": { questions: { one: { ...NOUL, instructions: MARK } } },
      "questions.*.criteria.true": { questions: { one: { ...NOUL, criteria: { true: MARK } } } },
      "questions.*.criteria: {}": { questions: { one: { type: "choice", criteria: { [MARK]: null, b: "c" } } } },
      "questions.*.criteria: []": { questions: { one: { type: "score", criteria: [MARK, "b"] } } },
      "priority": { priority: MARK },
    },
  },
];

async function verdictOn({ path, base }: Client, sample: JsonObject, setup: Setup): Promise<string> {
  const app = newApp({ config: configFor(setup) });
  const response = await app.post(path, { model: "judge", ...base, ...sample }, { "x-laneway-explain": "true" });
  const { targets } = await response.json();
  const [target] = targets as { notes: string[]; requests?: { body: JsonValue }[]; error?: unknown }[];
  if (!target || target.error) return "refused";
  if (target.notes.some((note) => note.startsWith("dropped"))) return "dropped";
  if (!JSON.stringify(target.requests).includes(MARK)) return "–";
  return target.notes.some((note) => note.startsWith("joined")) ? "as text" : "carried";
}

/** The tables as Markdown. */
export async function renderDecisions(): Promise<string> {
  const tables: string[] = [];
  for (const client of DECISION_CLIENTS) {
    const rows = await Promise.all(
      Object.entries(client.samples).map(async ([field, sample]) => [
        `\`${field}\``,
        ...await Promise.all(SETUPS.map((setup) => verdictOn(client, sample, setup))),
      ]),
    );
    const lines = [
      ["field", ...SETUPS.map((setup) => `at \`${setup}\``)],
      ["---", ...SETUPS.map(() => "---")],
      ...rows,
    ];
    const text = lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
    tables.push(`<details><summary>${client.title} (${rows.length} fields)</summary>\n\n${text}\n\n</details>`);
  }
  return tables.join("\n\n");
}
