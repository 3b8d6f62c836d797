/** Asks where models come from, and tests each source. */
import { hubToken } from "../../../plugins/programs/probing/mod.ts";
import type { Provider } from "../../contract/provider.ts";
import { isLoopback } from "../../util/urls_and_headers.ts";
import type { Choice } from "../dialog/dialog.ts";
import { withProgress } from "../progress.ts";
import type { FoundServer, Source } from "./answers.ts";
import { asTested, checkSource } from "./check_source.ts";
import { type Asking, given } from "./asking.ts";
import { checkedUrl, providerUrl } from "./entries.ts";
import { UNKNOWN_SERVER } from "./names.ts";
import { failure, nameOf } from "./show.ts";
import { AnswerError } from "./standing.ts";
import { factsFor } from "./work.ts";

/** A source that answered. */
export interface Added {
  source: Source;
  upstream: string;
  models: string[];
}

/** The sources that the user wants: those that were added before, and more. Throws `LeftError`. */
export async function askSources(
  asking: Asking,
  servers: readonly FoundServer[],
  before: readonly Added[],
): Promise<Added[]> {
  const { dialog } = asking;
  const added = [...before];
  for (let isNew = true;; isNew = false) {
    const isFirst = added.length === 0;
    const open = servers.filter(({ baseUrl }) => !added.some(({ source }) => isAt(source, baseUrl)));
    const kinds = given(
      await dialog.chooseSeveral(
        isFirst ? "Where do your models run?" : "Where else do your models run?",
        choicesFor(open),
        isFirst && isNew ? open.map(({ baseUrl }) => baseUrl) : [],
      ),
    );
    for (const kind of kinds) {
      for (const source of await askDetails(kind, open, asking)) await addTested(source, added, asking);
    }
    if (added.length > 0) {
      if (!given(await dialog.confirm(`Added: ${added.map(labelOf).join(", ")}. Add another source?`, false))) {
        return added;
      }
    } else if (kinds.length === 0) {
      dialog.say("Mark one source at least before Enter; the sandbox needs no key");
    }
  }
}

function labelOf({ upstream }: Added): string {
  return upstream;
}

function isAt(source: Source, baseUrl: string): boolean {
  return source.kind === "server" && source.baseUrl === baseUrl;
}

function choicesFor(servers: readonly FoundServer[]): Choice[] {
  return [
    ...servers.map(({ baseUrl, title, models, needsSecret }) => ({
      value: baseUrl,
      label: `${title} at ${baseUrl}`,
      hint: needsSecret ? "it needs a key" : models.length === 1 ? models[0]! : counted(models.length),
    })),
    { value: "provider", label: "A provider", hint: "with your key" },
    { value: "hub", label: hubToken.title, hint: "with your token; many open models" },
    { value: "server", label: "A server at another address" },
    { value: "sandbox", label: "Only the sandbox", hint: "no key; it answers like a model, but is none" },
  ];
}

/** Asks what a source needs: addresses and keys. Throws `LeftError`. */
async function askDetails(kind: string, servers: readonly FoundServer[], asking: Asking): Promise<Source[]> {
  const { dialog } = asking;
  switch (kind) {
    case "provider":
      return await askProviders(asking);
    case "hub":
      return withSecret(
        { kind: "hub" },
        await askSecret(`Token for ${hubToken.title} (from ${hubToken.keysAt})`, asking),
      );
    case "server": {
      const example = "http://127.0.0.1:8080/v1";
      const baseUrl = given(await dialog.enter("Its address", { example, check: whyNoUrl }));
      return [{ kind: "server", baseUrl }];
    }
    case "sandbox":
      return [{ kind: "sandbox" }];
    default: {
      const found = servers.find(({ baseUrl }) => baseUrl === kind)!;
      const { baseUrl, title, needsSecret } = found;
      const secret = needsSecret
        ? await askSecret(`Key for ${title === UNKNOWN_SERVER ? baseUrl : title}`, asking)
        : {};
      return withSecret({ kind: "server", baseUrl, title }, secret);
    }
  }
}

/** None if the source was left out. */
function withSecret(source: Source, secret: { secret?: string; secretEnv?: string } | undefined): Source[] {
  return secret === undefined ? [] : [{ ...source, ...secret } as Source];
}

function whyNoUrl(text: string): string | undefined {
  try {
    checkedUrl(text.trim());
    return undefined;
  } catch (error) {
    if (error instanceof AnswerError) return error.message;
    throw error;
  }
}

async function askProviders(asking: Asking): Promise<Source[]> {
  const { dialog, place } = asking;
  const { providers } = factsFor(place);
  const paid = Object.entries(providers).filter(([, provider]) => !isLocal(provider));
  const choices = paid.map(([value, { title }]) => ({ value, label: title }));
  const sources: Source[] = [];
  const chosen = given(await dialog.chooseSeveral("Which providers?", choices));
  if (chosen.length === 0) dialog.say("No provider was chosen: Enter goes on with those that are marked");
  for (const id of chosen) {
    const provider = providers[id]!;
    const baseUrl = await askBaseUrl(provider, asking);
    const from = provider.keysAt === undefined ? "" : ` (from ${provider.keysAt})`;
    // Tokens of an hour are in a file that another program renews.
    const secret = provider.secret?.file === undefined
      ? await askSecret(`Key for ${provider.title}${from}`, asking, provider.secret?.env)
      : {};
    sources.push(...withSecret({ kind: "provider", provider: id, ...baseUrl !== undefined && { baseUrl } }, secret));
  }
  return sources;
}

function isLocal({ drivers }: Provider): boolean {
  const url = URL.parse(Object.values(drivers)[0]!.baseUrl ?? "");
  return url !== null && isLoopback(url.hostname);
}

/** Absent if all users of the provider have the same address. */
async function askBaseUrl(provider: Provider, { dialog }: Asking): Promise<string | undefined> {
  const form = Object.values(provider.drivers)[0]!.baseUrlForm;
  if (form === undefined) return undefined;
  const check = (baseUrl: string) => {
    try {
      providerUrl({ baseUrl }, provider);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return given(await dialog.enter(`Your address at ${provider.title}`, { example: form, check }));
}

/** A key that is entered, or a variable that is set already. Absent if the source is left out. */
async function askSecret(
  question: string,
  { dialog, program: { platform } }: Asking,
  variable?: string,
): Promise<{ secret?: string; secretEnv?: string } | undefined> {
  if (variable !== undefined && platform.env(variable)) {
    const isTaken = given(await dialog.confirm(`Use the key in the variable ${variable}?`, true));
    if (isTaken) return { secretEnv: variable };
  }
  for (let isEmpty = false;;) {
    const secret = given(await dialog.enterSecret(question));
    if (/^[\x21-\x7e]+$/.test(secret)) return { secret };
    if (secret === "" && isEmpty) return undefined;
    isEmpty = secret === "";
    dialog.say(isEmpty ? "Enter the key; Enter alone leaves this source out" : "Expected one line without spaces");
  }
}

/** Tests a source, again and with other values as long as the user wants. Throws `LeftError`. */
async function addTested(first: Source, added: Added[], asking: Asking): Promise<void> {
  const { dialog, place, program } = asking;
  for (let source = first;;) {
    const name = nameOf(source);
    const checked = await withProgress(program, `Testing ${name}`, () => checkSource(source, place));
    if (checked.ok) {
      const { upstream, models, remark } = checked;
      dialog.say(`${name}: it works${models.length > 0 ? ` and has ${counted(models.length)}` : ""}`);
      if (remark !== undefined) dialog.say(`  ${remark}`);
      const at = added.findIndex((one) => one.upstream === upstream);
      added.splice(at < 0 ? added.length : at, at < 0 ? 0 : 1, { source: asTested(source, checked), upstream, models });
      return;
    }
    dialog.say(`${name}: ${failure(checked)}`);
    const next = given(await dialog.choose("What now?", NEXT.filter(({ value }) => canChange(source, value)), "again"));
    if (next === "skip") return;
    if (next === "key") {
      const secret = await askSecret("Key", asking);
      if (secret === undefined) return;
      source = { ...source, secretEnv: undefined, ...secret } as Source;
    }
    if (next === "address" && "baseUrl" in source) {
      const baseUrl = given(await dialog.enter("Its address", { first: source.baseUrl, check: whyNoUrl }));
      source = { ...source, baseUrl };
    }
  }
}

const NEXT: readonly Choice[] = [
  { value: "again", label: "Test it again" },
  { value: "key", label: "Enter another key" },
  { value: "address", label: "Enter another address" },
  { value: "skip", label: "Leave it out" },
];

function canChange(source: Source, what: string): boolean {
  if (what === "key") return source.kind !== "sandbox";
  return what !== "address" || ("baseUrl" in source && source.baseUrl !== undefined);
}

function counted(count: number): string {
  return `${count} model${count === 1 ? "" : "s"}`;
}
