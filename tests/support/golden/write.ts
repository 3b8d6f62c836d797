import { commonTo, elide, type Envelope, type Envelopes, restore, showEnvelope } from "./envelope.ts";
import { NUMBER, type Piece, piecesOf, type Usual } from "./pieces.ts";
import type { Translation } from "./translate.ts";
import { inOneLine, isBranch, isSame, layOut, Word } from "./tree.ts";

/** The translation below its heading, without what is usual. `isSure`: throws where the whole could not be restored. */
export function write(translation: Translation, usual: Usual, isSure: boolean): string {
  const { name, content, notes } = translation;
  const pieces = piecesOf(translation, usual).map((piece) => without(piece, usual.envelopes, isSure));
  const body = typeof content === "string" ? `${layOut(pieces[0]!.tree)}\n` : writeStream(pieces, isSure);
  return `== ${name} ==\n${body}${notes.map((note) => `note: ${note}\n`).join("")}`;
}

function without(piece: Piece, envelopes: Envelopes, isSure: boolean): Piece {
  const tree = elide(piece, envelopes);
  if (isSure && !isSame(restore({ ...piece, tree }, envelopes), piece.tree)) {
    throw new Error(`Cannot restore what was left out: ${piece.kind}: ${inOneLine(tree)}`);
  }
  return { ...piece, tree };
}

/** Writes one frame a line. The part that all frames without a name share is written once, before the first. */
function writeStream(pieces: Piece[], isSure: boolean): string {
  const common = new Map<string, Envelope>();
  let lines = "";
  for (const [kind, all] of Map.groupBy(pieces.filter(({ name }) => name === undefined), ({ kind }) => kind)) {
    const envelope = commonTo(all.map(({ tree }) => tree).filter(isBranch));
    if (all.length === 1 || ![...envelope.values()].some(({ value }) => value !== undefined)) continue;
    common.set(kind, envelope);
    lines += `each frame: ${inOneLine(showEnvelope(envelope))}\n`;
  }
  for (const piece of pieces) {
    lines += `${writeFrame(common.has(piece.kind) ? without(piece, common, isSure) : piece)}\n`;
  }
  return lines;
}

function writeFrame({ name, tree }: Piece): string {
  if (name === undefined) return inOneLine(tree);
  if (!isBranch(tree) || tree.type !== name) return `${name} ${inOneLine(tree)}`;
  // Its type is its name, and its number is where it stands.
  const [, ...fields] = Object.entries(tree);
  const [key, value] = fields[0] ?? [];
  if (key === NUMBER && value instanceof Word && value.text === "position") fields.shift();
  return `${name} ${inOneLine(Object.fromEntries(fields))}`;
}
