/** The rules of sites for programs: robots.txt, by RFC 9309. */
import { BoundedMap } from "../util/bounded_map.ts";

/** The name by which sites know this program. */
export const AGENT = "Laneway";

/** The most bytes of a file that are read. */
export const ROBOTS_BYTES = 500 * 1024;
const MOST_RULES = 2_000;

interface Rule {
  allows: boolean;
  /** A path with `*` for any text. A `$` at the end means that nothing may follow. */
  pattern: string;
}

/** The rules for this program: those of the groups that name it, or else those for all programs. */
export function rulesIn(text: string): Rule[] {
  const own: Rule[] = [];
  const common: Rule[] = [];
  let namesOwn = false;
  let groups: Set<Rule[]> = new Set();
  let inNames = false;
  for (const line of text.split(/\r\n?|\n/)) {
    const [, field = "", value = ""] = /^\s*([a-z-]{1,40})\s*:([^#]*)/i.exec(line.slice(0, 1_000)) ?? [];
    const name = field.toLowerCase();
    if (name === "user-agent") {
      if (!inNames) groups = new Set();
      inNames = true;
      const [agent = ""] = value.trim().toLowerCase().split(/[^a-z_*-]/);
      if (agent === "*") groups.add(common);
      if (agent === AGENT.toLowerCase()) {
        namesOwn = true;
        groups.add(own);
      }
    } else if (name === "allow" || name === "disallow") {
      inNames = false;
      const pattern = normal(value.trim());
      if (pattern === "") continue;
      for (const rules of groups) {
        if (rules.length < MOST_RULES) rules.push({ allows: name === "allow", pattern });
      }
    }
  }
  return namesOwn ? own : common;
}

/** Whether the rules permit a path with its query. The longest matching pattern decides. */
export function permits(rules: readonly Rule[], path: string): boolean {
  const wanted = normal(path);
  let [length, allows] = [-1, true];
  for (const rule of rules) {
    const isStronger = rule.pattern.length > length || (rule.pattern.length === length && rule.allows);
    if (isStronger && fits(rule.pattern, wanted)) [length, allows] = [rule.pattern.length, rule.allows];
  }
  return allows;
}

/** Takes time proportional to the sum of both lengths, however many stars there are. */
function fits(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith("$");
  const [first = "", ...pieces] = (isWhole ? pattern.slice(0, -1) : pattern).split("*");
  if (!path.startsWith(first)) return false;
  let at = first.length;
  const last = isWhole ? pieces.pop() : undefined;
  for (const piece of pieces) {
    const found = path.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  if (!isWhole) return true;
  return last === undefined ? at === path.length : path.length - last.length >= at && path.endsWith(last);
}

/** Normalizes a path: non-ASCII characters are escaped, and needless escapes are removed. */
function normal(path: string): string {
  return path.replace(/%[\da-f]{2}|[^\x21-\x7e]/gi, (found) => {
    if (found.length < 3) return encodeURIComponent(found.toWellFormed());
    const character = String.fromCharCode(parseInt(found.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : found.toUpperCase();
  });
}

/** The result of fetching a site's robots.txt. */
export type RobotsFile = { text: string } | "none" | "unreachable";

const KEPT_SITES = 500;
const KEPT_MS = 60 * 60_000;
/** A site whose file cannot be fetched is asked again this soon, in milliseconds. */
const UNREACHABLE_MS = 60_000;

interface Known {
  /** Absent if the site cannot be reached. Nothing is fetched from it then. */
  rules: Promise<Rule[] | undefined>;
  until: number;
}

/** Keeps the rules of sites, and fetches them again once in a while. */
export class Robots {
  readonly #ask: (origin: string) => Promise<RobotsFile>;
  readonly #now: () => number;
  readonly #known = new BoundedMap<string, Known>(KEPT_SITES);

  /** `ask` never throws, and has a time limit of its own. */
  constructor(ask: (origin: string) => Promise<RobotsFile>, now: () => number) {
    this.#ask = ask;
    this.#now = now;
  }

  /** Absent if the site's rules cannot be fetched. */
  async permits({ origin, pathname, search }: URL): Promise<boolean | undefined> {
    const rules = await this.#rulesOf(origin).rules;
    return rules && permits(rules, pathname + search);
  }

  #rulesOf(origin: string): Known {
    const known = this.#known.get(origin);
    if (known && known.until > this.#now()) return known;
    const asked: Known = { until: this.#now() + KEPT_MS, rules: Promise.resolve(undefined) };
    asked.rules = this.#ask(origin).then((file) => {
      if (file === "unreachable") asked.until = this.#now() + UNREACHABLE_MS;
      if (typeof file === "string") return file === "none" ? [] : undefined;
      return rulesIn(file.text);
    });
    this.#known.set(origin, asked);
    return asked;
  }
}
