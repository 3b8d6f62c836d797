/** Processor time and memory of a program with all the processes that it started, from `/proc`: on Linux alone. */

/** The process and its descendants. */
export function treeOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const { name } of Deno.readDirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined;
    if (parent !== undefined) children.set(parent, [...children.get(parent) ?? [], Number(name)]);
  }
  const tree = [pid];
  // The list grows while it is gone through.
  for (const each of tree) tree.push(...children.get(each) ?? []);
  return tree;
}

/** Processor time of all their threads so far, in microseconds. The scheduler counts it in nanoseconds. */
export function treeCpuUs(pid: number): number {
  let nanoseconds = 0;
  for (const each of treeOf(pid)) {
    for (const thread of listOf(`/proc/${each}/task`)) {
      nanoseconds += Number(read(`/proc/${each}/task/${thread}/schedstat`)?.split(" ")[0] ?? 0);
    }
  }
  return nanoseconds / 1_000;
}

/** Resident memory of all of them in kB, now. */
export function treeResidentKb(pid: number): number {
  return sumOf(pid, "VmRSS");
}

/** The most that each has had since `resetPeaks`, together, in kB. */
export function treePeakKb(pid: number): number {
  return sumOf(pid, "VmHWM");
}

export function resetPeaks(pid: number): void {
  for (const each of treeOf(pid)) Deno.writeTextFileSync(`/proc/${each}/clear_refs`, "5");
}

function sumOf(pid: number, field: string): number {
  const kb = (each: number) =>
    Number(read(`/proc/${each}/status`)?.match(new RegExp(`^${field}:\\s+(\\d+) kB`, "m"))?.[1] ?? 0);
  return treeOf(pid).reduce((sum, each) => sum + kb(each), 0);
}

function parentOf(pid: string): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The program's name, in brackets, may hold blanks.
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

function listOf(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return []; // It has ended meanwhile.
  }
}

function read(file: string): string | undefined {
  try {
    return Deno.readTextFileSync(file);
  } catch {
    return undefined; // It has ended meanwhile.
  }
}
