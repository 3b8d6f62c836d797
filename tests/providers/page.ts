/** The recipes of docs/providers.md, from the table of presets. */
import type { Provider, Providers } from "../../src/contract/provider.ts";

/** The port on which the gateway listens by default. */
const OWN_PORT = "8000";

export function renderProviders(providers: Providers): string {
  const all = Object.entries(providers);
  const rows = all.map(([name, { title, secret, drivers }]) =>
    `| [\`${name}\`](#${anchorOf(title)}) | ${title} | ${placeOf(secret)} | ${listed(Object.keys(drivers))} |`
  );
  return [
    "| `provider` | service | its secret, by default | drivers |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
    ...all.map(([name, provider]) => section(name, provider)),
  ].join("\n");
}

/** The configuration to copy for a provider. */
export function recipeFor(name: string, { drivers, model, listsModels = true }: Provider): Record<string, unknown> {
  const [{ baseUrl, baseUrlForm } = {}] = Object.values(drivers);
  const port = URL.parse(baseUrl ?? "")?.port;
  return {
    extends: "default",
    ...port === OWN_PORT && { listen: { port: Number(OWN_PORT) + 1 } },
    upstreams: { [name]: { provider: name, ...baseUrlForm !== undefined && { baseUrl: baseUrlForm } } },
    lanes: {
      [name]: {
        ...!listsModels && { models: { [model]: { task: "chat", targets: [{ upstream: name, model }] } } },
        ...listsModels && { upstreams: { chat: name } },
      },
    },
  };
}

function section(name: string, provider: Provider): string {
  const { title, source, keysAt, secret, drivers, model, remarks = [] } = provider;
  const recipe = recipeFor(name, provider);
  const port = "listen" in recipe ? Number(OWN_PORT) + 1 : OWN_PORT;
  const created = keysAt === undefined ? "Create a key" : `Create a key at <${keysAt}>`;
  const key = secret?.env === undefined ? [] : [`${created}, and set the variable \`${secret.env}\` to it.`, ""];
  const settings = Object.entries(drivers).map(([driver, { baseUrl, baseUrlForm, settings = {}, secret: own }]) => {
    const header = own?.header ?? secret?.header ?? (driver === "messages" ? "x-api-key" : "authorization");
    const more = Object.entries(settings).map(([key, value]) => `\`${key}: ${JSON.stringify(value)}\``);
    return `| \`${driver}\` | \`${baseUrl ?? baseUrlForm}\` | ${secret ? `\`${header}\`` : "–"} | ${
      more.join(", ") || "–"
    } |`;
  });
  return [
    `## ${title}`,
    "",
    ...key,
    "```json",
    `{\n${Object.entries(recipe).map(([key, value]) => `  "${key}": ${inOneLine(value)}`).join(",\n")}\n}`,
    "```",
    "",
    `Clients then use \`http://127.0.0.1:${port}/${name}/v1\` and a model such as \`${model}\`.`,
    "",
    "| driver | base URL | secret in | further settings |",
    "| --- | --- | --- | --- |",
    ...settings,
    "",
    ...remarks.map((remark) => `- ${remark}`),
    `- Source: <${source}>`,
    "",
    ...renewalOf(provider),
  ].join("\n");
}

/** How a timer renews the secret. A reader finds the former one, or the whole new one. */
function renewalOf({ renewal, secret }: Provider): string[] {
  if (!renewal || secret?.file === undefined) return [];
  const { command, cron } = renewal;
  const { file } = secret;
  return [
    `By cron (\`${cron}\`) or a systemd timer, as a user who may write there. If it fails, the former token stays:`,
    "",
    "```sh",
    `umask 077; ${command} > ${file}.new && mv ${file}.new ${file}`,
    "```",
    "",
  ];
}

/** JSON with spaces inside braces, as people write it. */
function inOneLine(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ").replaceAll(/\[ | \]/g, (bracket) => bracket.trim());
}

function placeOf(secret: Provider["secret"]): string {
  if (!secret) return "none";
  return secret.file === undefined ? `variable \`${secret.env}\`` : `file \`${secret.file}\``;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

/** The name that a heading gets as the target of links. */
function anchorOf(title: string): string {
  return title.toLowerCase().replace(/[^\w\s-]/g, "").trim().replaceAll(/\s/g, "-");
}
