import { type Branch, isBranch, isSame, type Tree, Word } from "./tree.ts";

/** The keys that objects of one kind have, in order. */
export type Envelope = ReadonlyMap<string, Member>;
/** By kinds. */
export type Envelopes = ReadonlyMap<string, Envelope>;

interface Member {
  /** Whether each of the objects has it. */
  always: boolean;
  /** The usual value. */
  value?: Tree;
}

/**
 * A tree and the kind of object that it is. An object with a type is of a kind of its own (`answer to responses: message`),
 * any other is known by its place in the next such object around it (`answer to messages: message_delta.usage`).
 */
export interface Known {
  kind: string;
  tree: Tree;
}

const NONE: Envelope = new Map();
const ABSENT = new Word("absent");
const VARIES = new Word("…");
const OPTIONAL = new Word("… or absent");

/** The envelopes of those kinds in the samples that are wanted. */
export function learnEnvelopes(samples: Iterable<Known>, isWanted: (kind: string) => boolean): Envelopes {
  const objects = new Map<string, Branch[]>();
  for (const sample of samples) collect(sample, objects);
  const envelopes = new Map<string, Map<string, Member>>();
  // Inner objects first: one that has nothing but usual members is usual as a whole.
  for (const [kind, all] of [...objects].filter(([kind]) => isWanted(kind)).sort().reverse()) {
    const envelope = commonTo(all);
    for (const [key, member] of envelope) {
      const inner = [...envelopes.get(`${kind}.${key}`) ?? []].filter(([, { always }]) => always);
      if (!member.always || inner.length === 0 || inner.some(([, { value }]) => value === undefined)) continue;
      member.value ??= Object.fromEntries(inner.map(([key, { value }]) => [key, value!]));
    }
    envelopes.set(kind, envelope);
  }
  return envelopes;
}

function collect({ kind, tree }: Known, objects: Map<string, Branch[]>): void {
  if (Array.isArray(tree)) {
    for (const item of tree) collect({ kind: kindOf(item, kind, "[]"), tree: item }, objects);
  } else if (isBranch(tree)) {
    const all = objects.get(kind);
    if (all) all.push(tree);
    else objects.set(kind, [tree]);
    for (const key of Object.keys(tree)) collect(child(kind, key, tree), objects);
  }
}

function child(kind: string, key: string, tree: Branch): Known {
  return { kind: kindOf(tree[key]!, kind, `.${key}`), tree: tree[key]! };
}

function kindOf(tree: Tree, outer: string, step: string): string {
  // The same object in each event of a response.
  const type = step === ".response" ? "response" : isBranch(tree) ? tree.type : undefined;
  return typeof type === "string" ? `${outer.replace(/[.:[].*$/, "")}: ${type}` : outer + step;
}

/** The keys of all objects, each after the one that it follows where it is first seen. */
export function commonTo(objects: readonly Branch[]): Map<string, Member> {
  const keys: string[] = [];
  for (const object of objects) {
    let before = -1;
    for (const key of Object.keys(object)) {
      if (!keys.includes(key)) keys.splice(before + 1, 0, key);
      before = keys.indexOf(key);
    }
  }
  return new Map(keys.map((key) => {
    const values = objects.filter((object) => Object.hasOwn(object, key)).map((object) => object[key]!);
    // The type is shown always: an object is known by it.
    const value = key === "type" ? undefined : usualOf(values, objects.length);
    return [key, { always: values.length === objects.length, value }];
  }));
}

const EMPTY: readonly Tree[] = [null, [], {}];

/** The value that all of the objects have, or most of them if it is empty, or nearly all if it tells nothing apart. */
function usualOf(values: Tree[], objects: number): Tree | undefined {
  const value = majorityOf(values);
  if (value === undefined) return undefined;
  const share = values.filter((other) => isSame(other, value)).length / objects;
  return share > leastShare(value) ? value : undefined;
}

/** The value that more than half of them are, if there is one: each other value cancels out one of its votes. */
function majorityOf(values: Tree[]): Tree | undefined {
  let candidate: Tree | undefined;
  let votes = 0;
  for (const value of values) {
    if (votes === 0) candidate = value;
    votes += isSame(candidate, value) ? 1 : -1;
  }
  return candidate;
}

function leastShare(value: Tree): number {
  if (EMPTY.some((empty) => isSame(empty, value))) return 0.5;
  // Numbers and ids tell items apart.
  return typeof value === "number" || value instanceof Word ? 0.99 : 0.8;
}

/** The tree without what its envelopes say already. What is usual and not there is shown as absent. */
export function elide({ kind, tree }: Known, envelopes: Envelopes): Tree {
  if (Array.isArray(tree)) return tree.map((item) => elide({ kind: kindOf(item, kind, "[]"), tree: item }, envelopes));
  if (!isBranch(tree)) return tree;
  const envelope = envelopes.get(kind) ?? NONE;
  const elided: Branch = Object.create(null);
  const missing = [...envelope.keys()].filter((key) => isUsual(envelope, key) && !Object.hasOwn(tree, key));
  for (const key of shownOf(tree, missing, envelope)) {
    const value = tree[key]!;
    elided[key] = typeof value === "object" ? elide(child(kind, key, tree), envelopes) : value;
  }
  for (const key of missing) elided[key] = ABSENT;
  return elided;
}

/** The keys of which the values are unusual, and those which could not be put back in their positions. */
function shownOf(tree: Branch, missing: string[], envelope: Envelope): string[] {
  const keys = Object.keys(tree);
  const usual = envelope === NONE ? [] : keys.filter((key) => isSame(envelope.get(key)?.value, tree[key]));
  if (usual.length === 0) return keys;
  const without = (left: string[]) => keys.filter((key) => !left.includes(key));
  const isRestored = (left: string[]) => merge(without(left), missing, envelope).join() === keys.join();
  if (isRestored(usual)) return without(usual);
  const left: string[] = [];
  for (const key of usual) if (isRestored([...left, key])) left.push(key);
  return without(left);
}

/** The tree from which `elide` made this one. */
export function restore({ kind, tree }: Known, envelopes: Envelopes): Tree {
  if (Array.isArray(tree)) {
    return tree.map((item) => restore({ kind: kindOf(item, kind, "[]"), tree: item }, envelopes));
  }
  if (!isBranch(tree)) return tree;
  const envelope = envelopes.get(kind) ?? NONE;
  const missing = Object.keys(tree).filter((key) => tree[key] === ABSENT && isUsual(envelope, key));
  const shown = Object.keys(tree).filter((key) => !missing.includes(key));
  return Object.fromEntries(
    merge(shown, missing, envelope).map((key) => [
      key,
      shown.includes(key) ? restore(child(kind, key, tree), envelopes) : envelope.get(key)!.value!,
    ]),
  );
}

/** The keys that are shown and those that are usual, in order: what the envelope does not know comes as late as it can. */
function merge(shown: string[], missing: string[], envelope: Envelope): string[] {
  const merged: string[] = [];
  let next = 0;
  for (const key of envelope.keys()) {
    const at = shown.indexOf(key);
    if (at >= next) {
      merged.push(...shown.slice(next, at + 1));
      next = at + 1;
    } else if (at < 0 && isUsual(envelope, key) && !missing.includes(key)) {
      merged.push(key);
    }
  }
  return [...merged, ...shown.slice(next)];
}

function isUsual(envelope: Envelope, key: string): boolean {
  return envelope.get(key)?.value !== undefined;
}

/** An envelope as it is shown: its keys, with dots for the values that vary. */
export function showEnvelope(envelope: Envelope): Branch {
  return Object.fromEntries(
    [...envelope].map(([key, { always, value }]) => [key, value === undefined ? (always ? VARIES : OPTIONAL) : value]),
  );
}
