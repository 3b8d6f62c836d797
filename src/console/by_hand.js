// @ts-check
/** The command and the file for users whose gateway cannot write it. */

/**
 * @typedef {import("./setup_api.js").Answers} Answers
 * @typedef {import("./setup_api.js").Source} Source
 */

/** @type {(text: string) => string} */
const quoted = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * One command for each source, because a name and an address belong to one.
 * @param {string} command how Laneway is started there
 * @param {Answers} answers
 */
export function commandsOf(command, { sources, models, default: first }) {
  const named = new Map(sources.map((source) => [nameOf(source), sourceFlags(source)]));
  // The models of upstreams that are there come with the last command, and so does the default.
  const others = models.filter(({ upstream }) => !named.has(upstream));
  const groups = [...named].map(([name, flags]) => ({
    flags,
    own: models.filter(({ upstream }) => upstream === name),
  }));
  const last = groups.at(-1) ?? { flags: [], own: [] };
  const all = groups.length > 0 ? groups : [last];
  return all.map((group) => {
    const own = group === last ? [...group.own, ...others] : group.own;
    const flags = [
      ...group.flags,
      ...own.flatMap(({ name, upstream, model }) => ["--model", `${name}=${upstream}/${model}`]),
      ...group === last && first !== undefined ? ["--default", first] : [],
    ];
    return [command, "init", ...flags.map(quoted)].join(" ");
  }).join("\n");
}

/**
 * @param {Source} source
 * @returns {string[]}
 */
function sourceFlags(source) {
  if (source.kind === "provider") {
    const { provider, baseUrl } = source;
    return ["--provider", provider, ...baseUrl === undefined ? [] : ["--base-url", baseUrl]];
  }
  if (source.kind === "server") return ["--server", source.baseUrl, "--name", nameOf(source)];
  return source.kind === "hub" ? ["--hub"] : ["--sandbox"];
}

/**
 * The upstream's name where nobody has asked for another one.
 * @param {Source} source
 */
export function nameOf(source) {
  if (source.kind === "provider") return source.name ?? source.provider;
  if (source.kind === "server") return source.name ?? "local";
  if (source.kind === "upstream") return source.name;
  return source.kind === "hub" ? "router" : source.kind;
}

/** @param {Answers} answers */
export function fileOf({ sources, models, default: first }) {
  const entries = sources.flatMap(upstreamOf);
  const upstreams = Object.fromEntries(entries);
  const named = models.map(({ name, upstream, model }) => [name, { task: "chat", targets: [{ upstream, model }] }]);
  const other = models.find(({ name }) => name === first);
  const all = other
    ? [...named, ["*", { task: "chat", targets: [{ upstream: other.upstream, model: other.model }] }]]
    : named;
  return JSON.stringify(
    {
      extends: "default",
      ...Object.keys(upstreams).length > 0 && { upstreams },
      ...all.length > 0 && { lanes: { oss: { models: Object.fromEntries(all) } } },
    },
    null,
    2,
  );
}

/**
 * @param {Source} source
 * @returns {[string, object][]}
 */
function upstreamOf(source) {
  if (source.kind === "provider") {
    const { provider, baseUrl } = source;
    return [[nameOf(source), { provider, ...baseUrl !== undefined && { baseUrl } }]];
  }
  return source.kind === "server" ? [[nameOf(source), { driver: "chat", baseUrl: source.baseUrl }]] : [];
}
