// @ts-check
/** The command and the file for users whose gateway cannot write it. */

/** @typedef {import("./setup_api.js").Answers} Answers */

/** @type {(text: string) => string} */
const quoted = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * @param {string} command how Laneway is started there
 * @param {Answers} answers
 */
export function commandOf(command, { sources, models, default: first }) {
  const flags = [
    ...sources.flatMap((source) => {
      if (source.kind === "hub") return ["--hub"];
      if (source.kind === "provider") return ["--provider", source.provider];
      return source.kind === "server" ? ["--server", source.baseUrl] : [];
    }),
    ...models.flatMap(({ name, upstream, model }) => ["--model", `${name}=${upstream}/${model}`]),
    ...first === undefined ? [] : ["--default", first],
  ];
  return [command, "init", ...flags.map(quoted)].join(" ");
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
 * @param {import("./setup_api.js").Source} source
 * @returns {[string, object][]}
 */
function upstreamOf(source) {
  if (source.kind === "provider") {
    const { provider, name = provider, baseUrl } = source;
    return [[name, { provider, ...baseUrl !== undefined && { baseUrl } }]];
  }
  return source.kind === "server" ? [[source.name ?? "local", { driver: "chat", baseUrl: source.baseUrl }]] : [];
}
