/** Which of the things that a caller stores are evicted to make room for new ones. */
import type { SlicedWork } from "../util/sliced_work.ts";

/** An entry of an owner's list, without what is needed only to remove it. */
export interface Listed {
  /** What was added later has a higher one. */
  position: number;
  bytes: number;
  /** What it belongs to. A group is evicted as a whole. */
  group: string;
  /** The group that this one goes on from. */
  from?: string;
  /** Whether it is never evicted. */
  stays: boolean;
}

interface Group {
  /** The position at which it was used last. */
  last: number;
  from?: string;
  members: Listed[];
}

/** How many entries are looked at before others may run. */
const AT_ONCE = 1_000;

/**
 * Whole groups, those first that were used longest ago, until they come to so many bytes. The one that was used last stays,
 * and all that it goes on from.
 */
export function* toEvict(listed: readonly Listed[], bytes: number): SlicedWork<Listed[]> {
  const groups = new Map<string, Group>();
  for (const [index, one] of listed.entries()) {
    if (index % AT_ONCE === 0) yield;
    if (one.stays) continue;
    const group: Group = groups.get(one.group) ?? { last: 0, members: [] };
    group.last = one.position;
    group.from ??= one.from;
    group.members.push(one);
    groups.set(one.group, group);
  }
  yield* spread(groups);
  const byUse = new Map<number, Group[]>();
  let latest = 0;
  for (const group of groups.values()) {
    const same = byUse.get(group.last);
    if (same) same.push(group);
    else byUse.set(group.last, [group]);
    latest = Math.max(latest, group.last);
  }
  yield;
  const going: Listed[] = [];
  for (const { position } of listed) {
    if (bytes <= 0 || position === latest) break;
    for (const { members } of byUse.get(position) ?? []) {
      for (const one of members) {
        going.push(one);
        bytes -= one.bytes;
      }
    }
  }
  return going;
}

/** Whoever uses a group uses those that it goes on from. */
function* spread(groups: ReadonlyMap<string, Group>): SlicedWork<void> {
  let count = 0;
  for (const group of groups.values()) {
    for (let name = group.from; name !== undefined;) {
      if (++count % AT_ONCE === 0) yield;
      const before = groups.get(name);
      if (!before || before.last >= group.last) break;
      before.last = group.last;
      name = before.from;
    }
  }
}
