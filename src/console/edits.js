// @ts-check
/** The edits of the configuration that forms stand for. They are as small as possible, so that comments in the file stay. */

/**
 * @typedef {import("../context/console.ts").Edit} Edit
 * @typedef {(string | number)[]} Place
 * @typedef {Record<string, any>} Fields
 * @typedef {{ upstreams: Fields, lanes: Fields }} Sections
 * @typedef {{ own: Sections, builtIn: Sections, whole: Sections }} Entries `own`: as the file has them. `whole`: with what it extends.
 */

/** @param {unknown} value @returns {value is Fields} */
const isFields = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @type {(one: unknown, other: unknown) => boolean} */
export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/**
 * The edits that make of a value what it is to be. Absent is removed.
 * @param {Place} at
 * @param {any} now
 * @param {any} next
 * @returns {Edit[]}
 */
export function editsFor(at, now, next) {
  if (isSame(now, next)) return [];
  if (next === undefined) return [{ at }];
  if (Array.isArray(now) && Array.isArray(next)) return listEdits(at, now, next);
  if (!isFields(now) || !isFields(next)) return [{ at, value: next }];
  const stays = Object.keys(next).filter((name) => next[name] !== undefined);
  const gone = Object.keys(now).filter((name) => !stays.includes(name));
  return [...gone, ...stays].flatMap((name) => editsFor([...at, name], valueAt(now, [name]), valueAt(next, [name])));
}

/**
 * @param {Place} at
 * @param {any[]} now
 * @param {any[]} next
 * @returns {Edit[]}
 */
function listEdits(at, now, next) {
  let start = 0;
  while (start < now.length && start < next.length && isSame(now[start], next[start])) start++;
  let end = 0;
  const most = Math.min(now.length, next.length) - start;
  while (end < most && isSame(now.at(-1 - end), next.at(-1 - end))) end++;
  const [old, own] = [now.slice(start, now.length - end), next.slice(start, next.length - end)];
  if (old.length === own.length) return own.flatMap((one, index) => editsFor([...at, start + index], old[index], one));
  // From the last one on, so that the others keep their numbers.
  if (own.length === 0) return old.map((_, index) => ({ at: [...at, start + index] })).reverse();
  if (old.length === 0 && end === 0) return own.map((value, index) => ({ at: [...at, start + index], value }));
  return [{ at, value: next }];
}

/**
 * Without what is absent or empty; absent where nothing is left.
 * @param {Fields} fields
 * @returns {Fields | undefined}
 */
export function filled(fields) {
  const found = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

/**
 * @param {unknown} value
 * @param {Place} at
 * @returns {any}
 */
export function valueAt(value, at) {
  return at.reduce(
    (found, step) =>
      typeof found === "object" && found !== null && Object.hasOwn(found, step)
        ? /** @type {any} */ (found)[step]
        : undefined,
    value,
  );
}

/**
 * The edit that removes an entry. What the built-in configuration has comes back unless a `null` says that it is gone.
 * @param {Entries} known
 * @param {Place} at
 * @returns {Edit}
 */
export function removal({ builtIn }, at) {
  return valueAt(builtIn, at) === undefined ? { at } : { at, value: null };
}

/**
 * The models and lanes that send requests to an upstream. `others`: whether the model has other targets.
 * @param {Entries} known
 * @param {string} upstream
 */
export function usesOf({ whole }, upstream) {
  const lanes = Object.entries(whole.lanes);
  const models = lanes.flatMap(([lane, { models = {} }]) =>
    Object.entries(models).flatMap(([name, { targets = [] }]) => {
      const rest = targets.filter((/** @type {Fields} */ one) => one.upstream !== upstream);
      return rest.length === targets.length ? [] : [{ lane, name, rest }];
    })
  );
  const tasks = lanes.flatMap(([lane, { upstreams = {} }]) =>
    Object.entries(upstreams).flatMap(([task, name]) => name === upstream ? [{ lane, task }] : [])
  );
  return { models, tasks };
}

/**
 * Removes an upstream, also from the models and lanes that name it. Models without another target go.
 * @param {Entries} known
 * @param {string} upstream
 * @returns {Edit[]}
 */
export function withoutUpstream(known, upstream) {
  const { models, tasks } = usesOf(known, upstream);
  const ofModels = models.flatMap(({ lane, name, rest }) => {
    const at = ["lanes", lane, "models", name];
    if (rest.length === 0) return [removal(known, at)];
    return editsFor([...at, "targets"], valueAt(known.own, [...at, "targets"]), rest);
  });
  const ofTasks = tasks.map(({ lane, task }) => removal(known, ["lanes", lane, "upstreams", task]));
  // A lane that sends nothing anywhere cannot list what others offer.
  const bare = [...new Set(tasks.map(({ lane }) => lane))].filter((lane) => {
    const { upstreams, catalog } = known.whole.lanes[lane];
    return catalog !== undefined && Object.values(upstreams).every((name) => name === upstream);
  });
  const ofCatalogs = bare.map((lane) => removal(known, ["lanes", lane, "catalog"]));
  return [...ofModels, ...ofTasks, ...ofCatalogs, removal(known, ["upstreams", upstream])];
}

/** A value that the page does not get to see. It stays as it is. @param {unknown} value */
export const isHidden = (value) => /^\*\*\*\d+\*\*\*$/.test(String(value));

/**
 * The problems of an entry by their fields, and the others.
 * @param {readonly { path: string, message: string }[]} problems
 * @param {Place} at of the entry
 */
export function byField(problems, at) {
  const prefix = at.join(".");
  /** @type {Record<string, string>} */
  const fields = {};
  /** @type {string[]} */
  const others = [];
  for (const { path, message } of problems) {
    if (path === prefix || path.startsWith(`${prefix}.`)) fields[path.slice(prefix.length + 1)] ??= message;
    else others.push(path === "" ? message : `${path}: ${message}`);
  }
  return { fields, others };
}
