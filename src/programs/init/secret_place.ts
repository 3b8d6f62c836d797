/** Chooses the place of a secret: a file of its own beside the configuration, or a variable. */
import { isJsonObject } from "../../canonical/json.ts";
import { isVariableName } from "../../config/fields.ts";
import type { Setting } from "./document.ts";
import { AnswerError, at, type Facts, type Standing } from "./standing.ts";

interface SecretPlan {
  reference: { env?: string; file?: string };
  file?: { path: string; value: string };
}

/** The place of a source's secret. Absent if it has no secret. */
export function secretPlace(
  { secret, secretEnv }: { secret?: string; secretEnv?: string },
  name: string,
  { folder }: Standing,
  { isSet }: Pick<Facts, "isSet">,
): SecretPlan | undefined {
  const value = secret?.trim();
  if (value) {
    if (!/^[\x21-\x7e]+$/.test(value)) {
      throw new AnswerError("secret", "Expected a key of one line without spaces");
    }
    const path = `${folder}gateway.${name}.secret`;
    return { reference: { file: path }, file: { path, value } };
  }
  if (secretEnv === undefined || secretEnv === "") return undefined;
  // A key that was entered in the wrong place must be repeated nowhere.
  if (!isVariableName(secretEnv) || (looksLikeKey(secretEnv) && !isSet(secretEnv))) {
    throw new AnswerError("secretEnv", "Expected the name of a variable, not the key itself");
  }
  return { reference: { env: secretEnv } };
}

/** Puts the secret's place into an entry that is there. The header in which it is sent stays. */
export function secretSettings(
  path: string[],
  { env, file }: SecretPlan["reference"],
  { own, whole }: Standing,
  comment?: string,
): Setting[] {
  const [place, instead, value] = file === undefined ? ["env", "file", env!] : ["file", "env", file];
  if (at(whole, ...path, "secret", place) === value) return [];
  const written = at(own, ...path, "secret");
  if (isJsonObject(written)) return [{ at: [...path, "secret", place], value, instead }];
  const isThere = at(own, ...path) !== undefined;
  return isThere
    ? [{ at: [...path, "secret"], value: { [place]: value } }]
    : [{ at: path, value: { secret: { [place]: value } }, comment }];
}

/** Names of variables are in capitals, and keys are long and have digits. */
function looksLikeKey(text: string): boolean {
  return text.length >= 16 && /[a-z]/.test(text) && /\d/.test(text);
}
