/** The names that a model calls tools by, matched to those of the tools that it was offered. */
import type { Tool } from "../canonical/generate.ts";
import type { Context } from "../contract/context.ts";
import { upstreamName } from "./tool_names.ts";

/** The client's names, each by itself and by the name that the upstream knows. */
export type OfferedNames = ReadonlyMap<string, string>;

/** Longer names are not searched. */
const LONGEST = 512;

/** Marks of a model's grammar: tokens and tags, and what begins or ends one. */
const MARKS = /<[^<>]*>|\[\/?[A-Z_]+\]|[\][<>][\][<>|/]*/;
/** Prefixes and suffixes of a name in the header of a call. */
const BEFORE = /^(?:.*\bto=)?(?:(?:functions|default_api)\.|call:)?/s;
const AFTER = /(?::\d+)?$/;
const AROUND = /^[\s"'`:=]+|[\s"'`:=({]+$/g;

export function offeredNames(tools: readonly Tool[] = []): OfferedNames {
  const names = new Map(tools.map(({ name }) => [name, name]));
  for (const { type, name } of tools) {
    if (type !== "hosted" && !names.has(upstreamName(name))) names.set(upstreamName(name), name);
  }
  return names;
}

/** The client's name of the called tool. What belongs to no single tool stays as it is. */
export function matchName(written: string, offered: OfferedNames, context?: Pick<Context, "note">): string {
  const exact = offered.get(written);
  if (exact !== undefined || offered.size === 0 || written.length > LONGEST) return exact ?? written;
  const found = new Set(
    written.split(MARKS).flatMap((piece) => {
      const bare = piece.replace(AROUND, "");
      return offered.get(bare) ?? offered.get(bare.replace(BEFORE, "").replace(AFTER, "")) ?? [];
    }),
  );
  const [name] = found;
  if (found.size !== 1) return written;
  context?.note(`took marks off the tool name ${name}`);
  return name!;
}
