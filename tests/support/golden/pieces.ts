import type { Frame } from "../../../src/contract/frame.ts";
import type { Envelopes, Known } from "./envelope.ts";
import type { Translation } from "./translate.ts";
import { type Branch, isBranch, mapLeaves, parseTree, type Tree, Word } from "./tree.ts";

/** The parts that are the same in every case, and are therefore written once. */
export interface Usual {
  envelopes: Envelopes;
  /** How the ids of the items in an answer begin, by the type of the item: a number follows. */
  ids: ReadonlyMap<string, string>;
  /** The limit of an answer where the client sets none and the wire wants one. */
  limit?: Tree;
}

/** A body, or one frame of a stream. In its tree, words stand for what the gateway counts. */
export interface Piece extends Known {
  /** The name that stands before the tree of a frame. */
  name?: string;
}

/** Where a number may stand that the gateway sets or counts, and the word for it. */
interface Count {
  path: string[];
  value: Tree | undefined;
  word: string;
}

/** The place of a frame in its stream, on a wire that counts them. */
export const NUMBER = "sequence_number";

/** The parts of a translation that are written one by one. */
export function piecesOf(
  { name, content, unlimited, inputTokens }: Translation,
  { ids, limit }: Omit<Usual, "envelopes">,
): Piece[] {
  const kind = name.replace(/^refusal/, "error").replace(/^(answer to \w+), streamed$/, "$1");
  if (typeof content === "string") {
    const counts = unlimited ? [{ path: ["max_tokens"], value: limit, word: "default" }] : [];
    return [{ kind, tree: inWords(content, parseTree(content), ids, counts) }];
  }
  const trees = content.map(treeOf);
  const isNumbered = trees.some((tree) => tree && NUMBER in tree);
  return content.map((frame, position) => {
    const tree = trees[position];
    if (!tree) return { kind: `${kind}: frame`, ...plain(frame) };
    const counts = [
      { path: [NUMBER], value: position, word: "position" },
      { path: ["message", "usage", "input_tokens"], value: inputTokens, word: "estimate" },
    ];
    const type = frame.event ?? (typeof tree.object === "string" ? tree.object : "error");
    if (isNumbered && !(NUMBER in tree)) tree[NUMBER] = new Word("absent");
    return { kind: `${kind}: ${type}`, name: frame.event, tree: inWords(frame.data!, tree, ids, counts) };
  });
}

/** The JSON object that is all of a frame, but for its name, which is the object's type. */
function treeOf({ event, data, id, comment }: Frame): Branch | undefined {
  if (!data?.startsWith("{") || id !== undefined || comment !== undefined) return undefined;
  const tree = parseTree(data);
  if (!isBranch(tree) || JSON.stringify(tree) !== data) return undefined;
  return event === undefined || (tree.type === event && Object.keys(tree)[0] === "type") ? tree : undefined;
}

/** Any other frame. */
function plain(frame: Frame): { name: string; tree: Tree } {
  const { data, ...rest } = frame;
  const isData = data !== undefined && Object.keys(rest).length === 0;
  return isData ? { name: "data:", tree: data } : { name: "frame", tree: { ...frame } as Branch };
}

function inWords(json: string, tree: Tree, ids: Usual["ids"], counts: Count[]): Tree {
  if ([...ids.values()].some((start) => json.includes(start))) tree = mapLeaves(tree, (leaf) => idInWords(leaf, ids));
  for (const { path, value, word } of counts) {
    tree = changeAt(tree, path, (found) => found === value ? new Word(word) : found);
  }
  return tree;
}

function idInWords(leaf: Tree, ids: Usual["ids"]): Tree {
  if (typeof leaf !== "string") return leaf;
  const [start] = /^.*\D(?=\d+$)/.exec(leaf) ?? [];
  const type = [...ids].find(([, known]) => known === start)?.[0];
  return type === undefined ? leaf : new Word(`id of ${type} ${leaf.slice(start!.length)}`);
}

function changeAt(tree: Tree, [key, ...rest]: string[], change: (found: Tree) => Tree): Tree {
  if (key === undefined) return change(tree);
  if (!isBranch(tree) || !Object.hasOwn(tree, key)) return tree;
  return { ...tree, [key]: changeAt(tree[key]!, rest, change) };
}
