/** The fields of an answer that no other wire has: they ride through to clients of this one. */
import { addUnknown, type Extra, extraOf } from "../../src/canonical/extra.ts";
import { isJsonObject, type JsonObject, setField } from "../../src/canonical/json.ts";
import { unknownUsage } from "./usage.ts";
import {
  ANSWER_KEYS,
  type ChatAnswer,
  type ChatChoice,
  type ChatDelta,
  CHOICE_KEYS,
  DELTA_KEYS,
  WIRE,
} from "./wire.ts";

/** The fields that we do not know of one answer, as its increments come in. */
export class AnswerFields {
  readonly #answer: JsonObject = {};
  readonly #choice: JsonObject = {};
  readonly #message: JsonObject = {};

  /** Those of an answer or a chunk, apart from its choices. */
  addAnswer(answer: ChatAnswer): void {
    addUnknown(answer, ANSWER_KEYS, this.#answer);
  }

  addChoice(choice: ChatChoice): void {
    addUnknown(choice, CHOICE_KEYS, this.#choice);
  }

  addDelta(delta: ChatDelta): void {
    const fields = extraOf(WIRE, delta, DELTA_KEYS)?.fields;
    if (fields) mergeIncrement(this.#message, fields);
  }

  /** The fields that the beginning of the answer has. */
  atStart(): Extra | undefined {
    return extraFrom(this.#answer);
  }

  /** All of them, with the counts of the usage that we do not know. */
  atEnd(counts: ChatAnswer["usage"]): Extra | undefined {
    const usage = counts && unknownUsage(counts);
    return extraFrom({
      ...this.#answer,
      ...(Object.keys(this.#choice).length > 0 && { choice: this.#choice }),
      ...(Object.keys(this.#message).length > 0 && { message: this.#message }),
      ...(usage && { usage }),
    });
  }
}

/** Fields in which servers tell of themselves, or tell something a second time: nothing of the answer is lost with them. */
const ABOUT_SERVER: ReadonlySet<string> = new Set([
  "system_fingerprint",
  "service_tier",
  "timings",
  "provider",
  "kv_transfer_params",
  "native_finish_reason",
  "stop_reason",
  "token_ids",
  "reasoning_details",
  "usage",
]);

/** Fields that hold more of an answer; in the last of them litellm keeps what its own schema does not have. */
const HOLDERS: ReadonlySet<string> = new Set(["choice", "message", "provider_specific_fields"]);

/** The given fields, which no other wire has of an answer. Those that no other wire needs stand apart, as hints. */
function extraFrom(all: JsonObject): Extra | undefined {
  const fields: JsonObject = {};
  let hints: JsonObject | undefined;
  let isEmpty = true;
  for (const [key, value] of Object.entries(all)) {
    isEmpty = false;
    setField(isHint(key, value) ? hints ??= {} : fields, key, value!);
  }
  if (isEmpty) return undefined;
  return hints ? { wire: WIRE, fields, hints } : { wire: WIRE, fields };
}

function isHint(key: string, value: unknown): boolean {
  if (ABOUT_SERVER.has(key) || value === null) return true;
  return HOLDERS.has(key) && isJsonObject(value) && Object.entries(value).every((one) => isHint(...one));
}

/** Adds an increment of fields that we do not know: texts and lists grow, anything else is replaced. */
function mergeIncrement(into: JsonObject, fields: JsonObject): void {
  for (const [key, value] of Object.entries(fields)) {
    const before = into[key];
    if (value === null) continue;
    if (typeof before === "string" && typeof value === "string") into[key] = before + value;
    else if (Array.isArray(before) && Array.isArray(value)) { for (const one of value) before.push(one); }
    else into[key] = Array.isArray(value) ? [...value] : value;
  }
}
