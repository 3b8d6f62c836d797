/** Secrets that are recognized by the name to which they are assigned, or because an assigned value looks random. */
import { type Detector, isWordAt, type Match, runAt } from "./scan.ts";
import { isLongEnough } from "./secrets.ts";

const NAME =
  "pass(?:word|wd|phrase|code)?|pwd|(?<![a-z])pw(?![a-z])|secret|token|(?:api|access|auth|private|signing|encryption|master|account|storage)[-_. ]?key|" +
  "credentials?|passwort|kennwort|contraseña|mot de passe|wachtwoord|senha|пароль|密码";
/** How names go on that hold no secret, such as a number of tokens. */
const OTHER_NAME =
  /^(?:s|[-_]?(?:count|limit|type|name|usage|budget|ur[il]|endpoint|field|file|path|length|expir|policy|hash|id\b|ize)|iz|ive|ed\b|port|age\b|ing\b)/i;
const ASSIGNED =
  /[\w-]{0,40}\\{0,8}["'`]?\]?\s{0,8}(?::=|=>|={1,3}|:|>|\b(?:is|ist|lautet|est|es)\b:?)\s{0,8}\\{0,8}["'`]?/y;
/** The beginning of an argument's name, and the space before its value. */
const FLAG = /(?:^|[\s"'`])--?(?:[A-Za-z][\w-]{0,40})?$/;
const NEXT_ARGUMENT = /[\w-]{0,40}[ \t]{1,8}["'`]?(?!-)/y;
/** A text for a secret that is somewhere else, or is to be filled in. */
const REFERENCE =
  /\$(?:[{(]|[a-z_]{1,64}(?![a-z\d!@#$%^&*]))|<[^<>]{1,64}>|\{\{|%[({]|%[a-z_]{1,64}%|\*{3}|\[redacted|(?:x{4,}|\.{3}|…)/iy;
/** Without quotes it may also be an expression. */
const EXPRESSION = /(?:process|os|env|config|settings|self|this|args)\.|[a-z_][\w.$]{0,40}\(|[({[]/iy;
const VALUE = /[^\s"'`<>]+/y;
const NEXT_FIELD = /[&;,][\w.-]{1,40}[=:]/;
const NO_SECRETS = new Set(
  ("true,false,null,none,undefined,nil,string,str,text,number,int,integer,boolean,bool,bytes,object,any,optional,required," +
    "password,passwd,secret,token,key,value,yes,no,default,empty,missing,invalid,wrong,correct,hidden,redacted").split(
      ",",
    ),
);

/** Whether a field of this name holds a secret. */
export function isSecretName(name: string): boolean {
  WORD.lastIndex = 0;
  const found = WORD.exec(name);
  return found !== null && !OTHER_NAME.test(name.slice(found.index + found[0].length));
}
const WORD = new RegExp(NAME, "gi");

/** Whether a value is a secret if a field of such a name has it. */
export function isSecretValue(value: string): boolean {
  return value.length >= 4 && !NO_SECRETS.has(value.toLowerCase()) && !isReferenceAt(value, 0, false);
}

function isReferenceAt(text: string, at: number, mayBeExpression: boolean): boolean {
  REFERENCE.lastIndex = EXPRESSION.lastIndex = at;
  return REFERENCE.test(text) || mayBeExpression && EXPRESSION.test(text);
}

const named: Detector = {
  trigger: new RegExp(NAME, "gi"),
  longest: 32,
  read(text, at, name) {
    const after = at + name.length;
    if (OTHER_NAME.test(text.slice(after, after + 16))) return undefined;
    const isFlag = FLAG.test(text.slice(Math.max(0, at - 48), at));
    const assigned = runAt(ASSIGNED, text, after) || (isFlag ? runAt(NEXT_ARGUMENT, text, after) : "");
    if (assigned === "") return undefined;
    const start = after + assigned.length;
    const quote = /["'`]$/.exec(assigned)?.[0];
    if (isReferenceAt(text, start, quote === undefined)) return undefined;
    const end = quote === undefined ? endOfWord(text, start) : endOfQuote(text, start, quote);
    const value = text.slice(start, end);
    const isTight = isFlag || quote !== undefined || /\S=$|^[=>]$/.test(assigned);
    if (value.length < 4 || NO_SECRETS.has(value.toLowerCase()) || !isTight && !isUnlikeWord(value)) return undefined;
    return { start, end, kind: "secret", spreads: isLongEnough(value) };
  },
};

/** Whether the value may be a secret where a word of prose or code could stand. */
function isUnlikeWord(value: string): boolean {
  return value.length >= 6 && /[\d!@#$%^&*?+~]/.test(value) || value.length >= 24;
}

/** A value without quotes goes to the next space, without what follows it in a list. */
function endOfWord(text: string, start: number): number {
  const run = runAt(VALUE, text, start);
  const next = run.search(NEXT_FIELD);
  let length = next < 0 ? run.length : next;
  while (length > 0 && ",;)]}|.\\:".includes(run[length - 1]!)) length--;
  return start + length;
}

/** The end of a quoted value. Quotes inside JSON inside a text have backslashes before them, those inside the value more. */
function endOfQuote(text: string, start: number, quote: string): number {
  const depth = backslashesBefore(text, start - 1, 0);
  for (let at = text.indexOf(quote, start); at >= 0; at = text.indexOf(quote, at + 1)) {
    const count = backslashesBefore(text, at, start);
    if (count > depth) continue;
    // A secret has one line. A quote that is far away may belong to something else.
    if (text.slice(start, at).includes("\n")) break;
    return at - count;
  }
  return endOfWord(text, start);
}

function backslashesBefore(text: string, at: number, from: number): number {
  let count = 0;
  while (at - count > from && text[at - count - 1] === "\\") count++;
  return count;
}

const RUN = /[\w+/-]*={0,2}/y;
const FIELD = /([A-Za-z][\w-]{0,63})\\{0,8}["'`]?\s?$/;
/** Names of values that look random and are no secrets. */
const NO_SECRET_NAME =
  /sha|hash|digest|commit|integrity|checksum|rev|etag|uuid|guid|(?:^|[-_])id$|Id$|image|data|base64/i;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const random: Detector = {
  trigger: /[=:]\s?\\{0,8}["'`]?(?!\/\/)[\w+/-]{20}/g,
  longest: 32,
  read(text, at, trigger) {
    const start = at + trigger.length - 20;
    const value = runAt(RUN, text, start);
    const name = FIELD.exec(text.slice(Math.max(0, at - 80), at))?.[1];
    const end = start + value.length;
    if (name === undefined || NO_SECRET_NAME.test(name) || isWordAt(text, start - 1) || !isRandom(value)) return end;
    return { start, end, kind: "secret", spreads: isLongEnough(value) };
  },
};

/** Whether the value has nearly as much information as a random one of its length. */
export function isRandom(value: string): boolean {
  const seen = value.slice(0, 256);
  if (!/\d/.test(seen) || !/[a-z]/i.test(seen) || UUID.test(seen)) return false;
  if (/^[\da-f]+$/i.test(seen)) return seen.length >= 32 && entropyOf(seen) >= 3;
  const least = /[a-z]/.test(seen) && /[A-Z]/.test(seen) ? 0.35 : 0.2;
  return seen.length >= 20 && entropyOf(seen) >= 3.5 && changesIn(seen) >= least * seen.length;
}

/** How often a capital, a small letter or a digit is followed by another kind. In names of words that is rare. */
function changesIn(text: string): number {
  const kinds = text.replaceAll(/[^A-Za-z\d]/g, "").replaceAll(/[a-z]/g, "a").replaceAll(/[A-Z]/g, "A").replaceAll(
    /\d/g,
    "1",
  );
  return kinds.replaceAll(/(.)\1+/g, "$1").length - 1;
}

/** Bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= count / text.length * Math.log2(count / text.length);
  return bits;
}

export const assignedSecrets: readonly Detector[] = [named, random];

/** The match for a field whose name says that its value is a secret. */
export function wholeSecret(name: string | undefined, value: string): Match | undefined {
  if (name === undefined || !isSecretName(name) || !isSecretValue(value)) return undefined;
  return { start: 0, end: value.length, kind: "secret", spreads: isLongEnough(value) };
}
