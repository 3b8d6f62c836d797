/**
 * One-time codes, which the launcher prints and a page gives back. They prove that whoever uses the page also sees the terminal. It
 * is for the launcher, so it imports nothing.
 */

/** Letters and digits that look like no other, even in a poor font. */
const ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 8;
/** After so many wrong codes, there is a new one. */
const MOST_WRONG = 10;
/** How long no code is accepted then, in milliseconds. */
const PAUSE_MS = 60_000;
/** The most pages that are open at a time. The oldest is closed for another one. */
const MOST_SESSIONS = 20;

export type Opened = { session: string } | { reason: string };

export interface OneTimeCodes {
  /** Prints the first code, unless there is one. `page`: the URL of the console, if it is known before the gateway listens. */
  begin(page?: string): void;
  open(code: string): Opened;
  isOpen(session: string): boolean;
}

/** `now`: milliseconds by a monotonic clock. */
export function createOneTimeCodes({ say, now }: { say(text: string): void; now(): number }): OneTimeCodes {
  const sessions: string[] = [];
  let code: string | undefined;
  let wrong = 0;
  let pausedUntil = -Infinity;
  const renew = (sentence: (code: string) => string) => {
    code = newCode();
    wrong = 0;
    say(`Laneway: ${sentence(`${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`)}`);
  };
  return {
    begin(page) {
      if (code !== undefined) return;
      renew((code) => {
        const place = page === undefined ? "at /console" : `at ${page}/#setup?code=${code}`;
        return `set up with the one-time code ${code} ${place}`;
      });
    },
    open(typed) {
      const leftMs = pausedUntil - now();
      if (leftMs > 0) return { reason: `Too many wrong codes: try again in ${Math.ceil(leftMs / 1000)} seconds` };
      if (code !== undefined && isSame(plain(typed), code)) {
        renew((code) => `the one-time code was used. Another page needs ${code}`);
        if (sessions.length === MOST_SESSIONS) sessions.shift();
        const session = newSession();
        sessions.push(session);
        return { session };
      }
      if (++wrong >= MOST_WRONG) {
        pausedUntil = now() + PAUSE_MS;
        renew((code) => `${MOST_WRONG} wrong one-time codes were given. In a minute, the code is ${code}`);
      }
      return { reason: "This is not the one-time code: the terminal shows it, and each code opens one page" };
    },
    isOpen: (session) => sessions.reduce((found, one) => isSame(session, one) || found, false),
  };
}

/** The code as it was printed, without regard to case and signs. */
function plain(typed: string): string {
  return typed.slice(0, 100).toUpperCase().replace(/[^0-9A-Z]/g, "");
}

function newCode(): string {
  let code = "";
  while (code.length < LENGTH) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    // A byte beyond the last multiple would make some letters more likely.
    if (byte < 256 - 256 % ALPHABET.length) code += ALPHABET[byte % ALPHABET.length];
  }
  return code;
}

/** A secret that nobody can guess. */
export function newSession(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares in a time that depends only on the lengths. */
export function isSame(given: string, expected: string): boolean {
  let difference = given.length ^ expected.length;
  for (let at = 0; at < expected.length; at++) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at);
  return difference === 0;
}
