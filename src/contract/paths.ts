import { BoundedMap } from "../util/bounded_map.ts";
import { PathPattern, type Pattern } from "./path_pattern.ts";
import type { AnyProtocol } from "./protocol.ts";

type Params = Record<string, string | undefined>;

/** A protocol whose pattern matches a path, with the pattern's groups as the path has them. */
export interface Candidate {
  protocol: AnyProtocol;
  groups: Params;
}

/** A pattern as its segments: words and named groups. */
interface Route {
  protocol: AnyProtocol;
  /** Its position in the list of protocols. */
  index: number;
  segments: readonly Segment[];
  /** The text at the end of the path, after the group that matches the rest. */
  ending: string;
}

interface Segment {
  text: string;
  /** `word` matches its own text, `one` any one segment, and `rest` the rest of the path. */
  kind: "word" | "one" | "rest";
}

/** The routes that share the segments up to one point of a path. */
interface Branch {
  words: Map<string, Branch>;
  one?: Branch;
  /** Routes whose last group matches the rest of the path. */
  rests: Route[];
  /** Routes that end here. */
  ends: Route[];
}

/**
 * Finds the protocols whose patterns match a path, in their order. Testing a `URLPattern` costs 2 µs, and there are
 * about thirty. Patterns of words and groups are therefore matched segment by segment, and only the others are tested
 * themselves.
 */
export function createPathFinder(protocols: readonly AnyProtocol[]): (pathname: string) => readonly Candidate[] {
  const root: Branch = newBranch();
  const others: Route[] = [];
  for (const [index, protocol] of protocols.entries()) {
    const parsed = segmentsOf(protocol.pattern);
    const route = { protocol, index, segments: [], ending: "", ...parsed };
    if (parsed) grow(root, route);
    else others.push(route);
  }

  function find(pathname: string): Candidate[] {
    const parts = pathname.split("/");
    const found: { index: number; candidate: Candidate }[] = [];
    for (const route of routesFor(root, parts, 1)) {
      found.push({ index: route.index, candidate: { protocol: route.protocol, groups: groupsIn(parts, route) } });
    }
    for (const { protocol, index } of others) {
      const groups = protocol.pattern.exec({ pathname })?.pathname.groups;
      if (groups) found.push({ index, candidate: { protocol, groups } });
    }
    if (found.length > 1) found.sort((a, b) => a.index - b.index);
    return found.map(({ candidate }) => candidate);
  }

  /** Results by path. Most requests use the same few paths. */
  const known = new BoundedMap<string, readonly Candidate[]>(MOST_KNOWN);
  return (pathname) => {
    const before = known.get(pathname);
    if (before) return before;
    const candidates = find(pathname);
    if (candidates.length > 0 && pathname.length <= LONGEST_KNOWN) known.set(pathname, candidates);
    return candidates;
  };
}

/** How many paths are cached, and how long a cached path may be. */
const [MOST_KNOWN, LONGEST_KNOWN] = [256, 128];

function newBranch(): Branch {
  return { words: new Map(), rests: [], ends: [] };
}

function grow(root: Branch, route: Route): void {
  let branch = root;
  for (const { text, kind } of route.segments) {
    if (kind === "rest") return void branch.rests.push(route);
    let next = kind === "word" ? branch.words.get(text) : branch.one;
    if (!next) {
      next = newBranch();
      if (kind === "word") branch.words.set(text, next);
      else branch.one = next;
    }
    branch = next;
  }
  branch.ends.push(route);
}

/** The routes that match the parts from `at` on. No group matches an empty text. */
function routesFor({ words, one, rests, ends }: Branch, parts: readonly string[], at: number): Route[] {
  const part = parts[at];
  if (part === undefined) return ends;
  const word = words.get(part);
  const isEmpty = part === "" && at === parts.length - 1;
  const further = [
    ...word ? routesFor(word, parts, at + 1) : [],
    ...one && part !== "" ? routesFor(one, parts, at + 1) : [],
  ];
  if (rests.length === 0 || isEmpty) return further;
  const [last = ""] = parts.slice(-1);
  const isWhole = ({ ending }: Route) =>
    ending === "" || last.endsWith(ending) && (last !== ending || at < parts.length - 1);
  return [...further, ...rests.filter(isWhole)];
}

function groupsIn(parts: readonly string[], { segments, ending }: Route): Params {
  const groups: Params = {};
  for (const [at, { text, kind }] of segments.entries()) {
    if (kind === "one") groups[text] = parts[at + 1];
    else if (kind === "rest") groups[text] = withoutEnding(parts.slice(at + 1).join("/"), ending);
  }
  return groups;
}

function withoutEnding(path: string, ending: string): string {
  return path.slice(0, path.length - ending.length);
}

const WORD = /^[\w.~-]+$/;
const ONE = /^:([a-z]+)$/i;
/** The rest of the path, optionally followed by an action: `:id(.+)\\:run`. */
const REST = /^:([a-z]+)\(\.\+\)(?:\\(:[a-z]+))?$/i;
const COMPONENTS = ["protocol", "username", "password", "hostname", "port", "search", "hash"] as const;

/** The segments of a pattern that consists only of words and groups. `undefined` for any other pattern. */
function segmentsOf(pattern: Pattern): Pick<Route, "segments" | "ending"> | undefined {
  const { pathname } = pattern;
  if (!pathname.startsWith("/") || COMPONENTS.some((component) => pattern[component] !== "*")) return undefined;
  const parts = pathname.slice(1).split("/");
  const segments: Segment[] = [];
  let ending = "";
  for (const [at, part] of parts.entries()) {
    const rest = at === parts.length - 1 ? REST.exec(part) : null;
    const group = ONE.exec(part) ?? rest;
    if (rest?.[2]) ending = rest[2];
    if (group) segments.push({ text: group[1]!, kind: group === rest ? "rest" : "one" });
    else if (WORD.test(part)) segments.push({ text: part, kind: "word" });
    else return undefined;
  }
  const isOther = !(pattern instanceof PathPattern) && ignoresCase(pattern, segments, ending);
  return isOther ? undefined : { segments, ending };
}

/** A pattern has no property that states this, so it is tried out. */
function ignoresCase(pattern: Pattern, segments: readonly Segment[], ending: string): boolean {
  const path = (turn: (word: string) => string) =>
    segments.map(({ text, kind }) => kind === "word" ? turn(text) : "x").join("/") + turn(ending);
  const [upper, lower] = [path((word) => word.toUpperCase()), path((word) => word.toLowerCase())];
  return upper !== lower && pattern.test({ pathname: `/${upper}` }) && pattern.test({ pathname: `/${lower}` });
}
