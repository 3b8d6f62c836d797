/** Secrets that are recognized by their own form. */
import { type Detector, isWordAt, type Match, runAt } from "./scan.ts";

/** The beginnings of keys and tokens of known services, with the fewest characters that follow. */
const PREFIXES: Readonly<Record<string, number>> = {
  "sk-": 20,
  "sk_": 16,
  "rk_live_": 16,
  "rk_test_": 16,
  "pk_live_": 16,
  "pk_test_": 16,
  "whsec_": 16,
  "ghp_": 20,
  "gho_": 20,
  "ghu_": 20,
  "ghs_": 20,
  "ghr_": 20,
  "github_pat_": 20,
  "glpat-": 16,
  "glsa_": 20,
  "xoxa-": 10,
  "xoxb-": 10,
  "xoxp-": 10,
  "xoxr-": 10,
  "xoxs-": 10,
  "xoxe-": 10,
  "xapp-": 10,
  "AIza": 30,
  "ya29.": 20,
  "GOCSPX-": 20,
  "hf_": 20,
  "r8_": 20,
  "gsk_": 20,
  "xai-": 20,
  "pplx-": 20,
  "nvapi-": 20,
  "tgp_v1_": 20,
  "fw_": 20,
  "csk-": 20,
  "npm_": 20,
  "pypi-": 20,
  "rubygems_": 20,
  "dckr_pat_": 20,
  "dop_v1_": 20,
  "shpat_": 20,
  "shpss_": 20,
  "sq0atp-": 16,
  "sq0csp-": 16,
  "SG.": 20,
  "hvs.": 20,
  "hvb.": 20,
  "dapi": 32,
  "figd_": 20,
  "lin_api_": 20,
  "ntn_": 20,
  "secret_": 30,
  "sntrys_": 20,
  "key-": 30,
  "EAAC": 30,
  "AGE-SECRET-KEY-1": 30,
  "hooks.slack.com/services/": 20,
  "discord.com/api/webhooks/": 20,
  "PMAK-": 20,
  "phc_": 20,
  "phx_": 20,
  "lsv2_": 20,
}; // deno-fmt-ignore

const LONGEST_PREFIX = Math.max(...Object.keys(PREFIXES).map(({ length }) => length));
const PREFIX = Object.keys(PREFIXES).sort((a, b) => b.length - a.length).map((prefix) => prefix.replaceAll(".", "\\."))
  .join("|");
const TOKEN = /[\w./+=-]*/y;

const prefixed: Detector = {
  trigger: new RegExp(PREFIX, "g"),
  longest: LONGEST_PREFIX,
  read(text, at, prefix) {
    if (isWordAt(text, at - 1)) return undefined;
    const run = runAt(TOKEN, text, at + prefix.length);
    const token = run.replace(/[./+=-]$/, "");
    if (token.length < PREFIXES[prefix]! || !looksRandom(token.slice(0, 64))) return at + prefix.length;
    return { start: at, end: at + prefix.length + token.length, kind: "secret", spreads: true };
  },
};

/** Whether the text may be random: words have no digits and one case. */
function looksRandom(text: string): boolean {
  return /\d/.test(text) || /[a-z]/.test(text) && /[A-Z]/.test(text);
}

/** The text begins like a key of a known service that is long enough not to be there by chance. */
export function beginsLikeKey(text: string): boolean {
  return /^(?:sk-(?:proj|ant|or)-|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|A(?:KIA|SIA)[A-Z\d]{16})/.test(text);
}

const cloudKeys: Detector = {
  trigger: /A(?:KIA|SIA|GPA|IDA|ROA|IPA|NPA|NVA)[A-Z0-9]{16}/g,
  longest: 20,
  read: (text, at, { length }) =>
    isWordAt(text, at - 1) || isWordAt(text, at + length) ? undefined : secretAt(at, at + length),
};

const JWT = /eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*){0,3}/y;
const JWT_RUN = /[\w-]*/y;

const webTokens: Detector = {
  trigger: /eyJ/g,
  longest: 3,
  read(text, at) {
    if (isWordAt(text, at - 1) || /[-_]/.test(text.charAt(at - 1))) return undefined;
    const { length } = runAt(JWT, text, at);
    // A run is read once, however often it has the letters.
    return length > 0 ? secretAt(at, at + length) : at + runAt(JWT_RUN, text, at).length;
  },
};

const privateKeys: Detector = {
  trigger: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/g,
  longest: 64,
  read(text, at) {
    const end = text.indexOf("-----END", at);
    // A key that is cut off is still a secret.
    if (end < 0) return secretAt(at, text.length);
    const close = text.slice(end + 8, end + 88).indexOf("-----");
    return secretAt(at, close < 0 ? Math.min(text.length, end + 88) : end + 8 + close + 5);
  },
};

const BEARER_TOKEN = /[\w.~+/=-]+/y;

const bearers: Detector = {
  trigger: /(?:bearer|basic)[ \t]{1,8}(?=[\w.~+/=-]{8})/gi,
  longest: 24,
  read(text, at, { length }) {
    if (isWordAt(text, at - 1)) return undefined;
    const token = runAt(BEARER_TOKEN, text, at + length).replace(/\.$/, "");
    if (!/[\d=]/.test(token.slice(0, 128)) && token.length < 20) return at + length + token.length;
    return secretAt(at + length, at + length + token.length);
  },
};

const USER_INFO = /[^\s/?#"'<>`\\]{1,2048}/y;

const urlCredentials: Detector = {
  trigger: /:\/\//g,
  longest: 3,
  read(text, at) {
    const info = runAt(USER_INFO, text, at + 3);
    const host = info.lastIndexOf("@");
    if (host < 1) return at + 3;
    const colon = info.indexOf(":");
    const isPair = colon >= 0 && colon < host - 1;
    const start = at + 3 + (isPair ? colon + 1 : 0);
    const word = text.slice(start, at + 3 + host);
    if (!isPair && (word.length < 12 || !looksRandom(word))) return at + 3;
    return { ...secretAt(start, at + 3 + host), spreads: isLongEnough(word) };
  },
};

/** As curl takes them: -u name:password. */
const loginArguments: Detector = {
  trigger: /(?:\s-u|--user)[ =]?["']?[\w.@+-]{1,64}:(?=[^\s"'])/g,
  longest: 80,
  read(text, at, { length }) {
    const word = runAt(PASSWORD, text, at + length);
    return { ...secretAt(at + length, at + length + word.length), spreads: isLongEnough(word) };
  },
};
const PASSWORD = /[^\s"'`]+/y;

/** All that a line with cookies has. */
const cookies: Detector = {
  trigger: /cookie:[ \t]{1,8}(?=[\w.-]{1,64}=)/gi,
  longest: 90,
  read(text, at, { length }) {
    const line = runAt(COOKIE_LINE, text, at + length);
    return secretAt(at + length, at + length + line.length);
  },
};
const COOKIE_LINE = /[^\r\n"'`\\]+/y;

const botTokens: Detector = {
  trigger: /\d{8,10}:A[\w-]{34}/g,
  longest: 46,
  read: (text, at, { length }) =>
    isWordAt(text, at - 1) || isWordAt(text, at + length) ? undefined : secretAt(at, at + length),
};

function secretAt(start: number, end: number): Match {
  return { start, end, kind: "secret", spreads: true };
}

/** Whether the text is searched for in other texts: shorter ones stand there by chance. */
export function isLongEnough({ length }: string): boolean {
  return length >= 5 && length <= 4_096;
}

/** Whether the text cannot be a word, a number or the name of a field, so that it is a secret even as a part of a word. */
export function looksSecret(text: string): boolean {
  if (text.length < 6) return false;
  return /\d/.test(text) && /[^\d.,:\s-]/.test(text) || /[a-z][^a-zA-Z\d\s_.:/-]|[^a-zA-Z\d\s_.:/-][a-z]/i.test(text);
}

export const secretForms: readonly Detector[] = [
  prefixed,
  cloudKeys,
  webTokens,
  privateKeys,
  bearers,
  urlCredentials,
  botTokens,
  loginArguments,
  cookies,
];
