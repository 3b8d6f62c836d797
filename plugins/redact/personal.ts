/** Personal data that can be recognized by its form and check digits. */
import type { PersonalKind } from "./options.ts";
import type { Kind } from "./placeholder.ts";
import { type Detector, isWordAt, type Match, runAt } from "./scan.ts";

const DOMAIN =
  /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}(?:xn--[a-z\d-]{2,59}|\p{L}{2,24})|\[[\d.:a-fA-F]{3,40}\]/yu;
const LOCAL = /[\p{L}\p{N}._%+'-]/u;
const [LONGEST_LOCAL, AT] = [64, /@|%40/g];
/** The user of addresses of repositories, who is nobody. */
const NOBODY = "git";

const emails: Detector = {
  trigger: AT,
  longest: 3,
  read(text, at, { length }) {
    const domain = runAt(DOMAIN, text, at + length);
    if (domain === "") return undefined;
    let start = at;
    if (text[at - 1] === '"') {
      const open = text.slice(Math.max(0, at - 1 - LONGEST_LOCAL), at - 1).lastIndexOf('"');
      start = open < 0 ? at : at - 1 - Math.min(at - 1, LONGEST_LOCAL) + open;
    } else {
      while (start > 0 && at - start < LONGEST_LOCAL && LOCAL.test(text[start - 1]!)) start--;
      while (start < at && "'.".includes(text[start]!)) start++;
    }
    if (start === at || text.slice(start, at) === NOBODY) return undefined;
    return found(start, at + length + domain.length, "email");
  },
};

const PHONE = /\+?\(?\d(?:(?:[ ./-]| ?\(|\)[ /-]?)?\d){6,14}/y;
/** Groups like (555) 123-4567. */
const GROUPED = /(?:1[-. ])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}/y;
const PREFIX = /^(?:\+\(?\d|\(?0{1,2}[1-9]|0[ /-]?[1-9])/;
const DATE = /^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}/;

const phones: Detector = {
  trigger: /[+(\d]/g,
  longest: 1,
  read(text, at) {
    if (isWordAt(text, at - 1) || text[at - 1] === "." || text[at - 1] === "+") return endOfDigits(text, at);
    const grouped = runAt(GROUPED, text, at);
    if (grouped !== "" && !isWordAt(text, at + grouped.length)) return found(at, at + grouped.length, "phone");
    // An international prefix, or the zero before the code of an area.
    if (!PREFIX.test(text.slice(at, at + 5))) return endOfDigits(text, at);
    // Another number may follow after a space.
    const run = runAt(PHONE, text, at);
    for (let phone = run; phone !== ""; phone = phone.slice(0, Math.max(0, phone.search(/\D+\d+$/)))) {
      const end = at + phone.length;
      if (digitsOf(phone).length < 7) break;
      if (!DATE.test(phone) && !isWordAt(text, end)) return found(at, end, "phone");
    }
    return endOfDigits(text, at);
  },
};

const DIGIT_RUN = /\d+/y;

function endOfDigits(text: string, at: number): number {
  return at + Math.max(1, runAt(DIGIT_RUN, text, at).length);
}

function digitsOf(text: string): string {
  return text.replaceAll(/\D/g, "");
}

const CARD = /\d(?:[ -]?\d){12,18}/y;

const creditCards: Detector = {
  trigger: /\d/g,
  longest: 1,
  read(text, at) {
    if (/[\d]/.test(text.charAt(at - 1))) return endOfDigits(text, at);
    const run = runAt(CARD, text, at);
    const end = at + run.length;
    if (run === "" || /\d/.test(text.charAt(end)) || !hasCheckDigit(digitsOf(run))) return endOfDigits(text, at);
    return found(at, end, "card");
  },
};

/** The check digit of payment cards (Luhn). */
export function hasCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]) * (place % 2 + 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0 && /[1-9]/.test(digits);
}

/** The length of an IBAN by its country. */
const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  ("AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 " +
    "FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 " +
    "LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 " +
    "SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20").split(" ").map((
      one,
    ) => [one.slice(0, 2), Number(one.slice(2))]),
);

const ibans: Detector = {
  trigger: /[A-Z]{2}\d{2}(?=[ -]?[A-Z\d])/gi,
  longest: 4,
  read(text, at, trigger) {
    const length = IBAN_LENGTHS.get(trigger.slice(0, 2).toUpperCase());
    if (length === undefined || isWordAt(text, at - 1)) return undefined;
    let end = at;
    let iban = "";
    while (iban.length < length) {
      if (isWordAt(text, end)) iban += text[end++];
      else if (/[ -]/.test(text.charAt(end)) && isWordAt(text, end + 1)) end++;
      else return undefined;
    }
    return isWordAt(text, end) || !hasCheckDigits(iban.toUpperCase()) ? undefined : found(at, end, "iban");
  },
};

/** The check digits of bank accounts: modulo 97 with the first four characters last, and letters as numbers from 10 on. */
export function hasCheckDigits(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    for (const digit of String(parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97;
  }
  return rest === 1;
}

const ADDRESS = /[\da-fA-F:.]{2,45}/y;
const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/;

const ipAddresses: Detector = {
  trigger: /[\da-f]{0,4}:[\da-f:]|\d{1,3}\.\d/gi,
  longest: 8,
  read(text, at) {
    const run = runAt(ADDRESS, text, at);
    const end = at + run.length;
    if (/^:(?!:)/.test(run)) return at + 1;
    if (isWordAt(text, at - 1) || text[at - 1] === "." || isWordAt(text, end)) return end;
    // A colon before a port, or the end of a sentence, is no part of it.
    const address = /^\d+(?:\.\d+){3}(?=:\d+$|[.:]*$)/.exec(run)?.[0] ?? run.replace(/\.$|(?<!:):$/, "");
    return isAddress(address) ? found(at, at + address.length, "ip") : end;
  },
};

function isAddress(text: string): boolean {
  if (V4.test(text)) return !/^(?:127\.|0\.0\.0\.0$)/.test(text) && text.split(".").length === 4;
  const groups = text.split(":").filter((group) => group !== "").length;
  return text.includes(":") && (groups >= 3 || text.includes(".")) && /\d/.test(text) &&
    URL.canParse(`http://[${text}]`);
}

function found(start: number, end: number, kind: Kind): Match {
  return { start, end, kind, spreads: false };
}

export const personalData: Readonly<Record<PersonalKind, Detector>> = {
  emails,
  phones,
  creditCards,
  ibans,
  ipAddresses,
};
