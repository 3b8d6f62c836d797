/** What hides the secrets in what was recorded: those that the gateway knows, and those that a client sent for tools. */
import type { Capture } from "../../context/capture.ts";
import { isSecretParameter } from "../../upstream/explain.ts";
import type { Recorded } from "../../context/recorded.ts";
import { SHORTEST_MASKED, spellingsFor } from "../../context/secrets.ts";
import { hideInSlices, spellOut } from "../../context/secrets_in_slices.ts";
import { isObject } from "../../util/merge.ts";
import type { Work } from "../../util/work.ts";

/** Names of fields with credentials, in the descriptions of hosted tools and of servers of tools. */
const CREDENTIAL = /^(authorization|authorization_token|token|api_key|headers)$/i;

const ADDRESS = /^(server_)?url$/i;

/** The same in a text that is no whole JSON: a field with its text, or with all that stands in braces. */
const WRITTEN =
  /"(?:authorization|authorization_token|token|api_key|headers)"\s*:\s*(?:"((?:\\.|[^"\\])*)"?|\{([^}]*))/gi;

/** The same text without secrets. A text may be as long as a body. */
export type HideLong = (text: string) => Work<string>;

export function hiderOf(recorded: Recorded): HideLong {
  const { body, calls } = recorded;
  // What is missing of a body that is cut off may stand in what the gateway made of it.
  const bodies = body.kept < body.length ? [body, ...calls.map((call) => call.body)] : [body];
  const credentials = bodies.flatMap((one) => credentialsIn(textIn(one)));
  const known = spellingsFor(recorded.secrets());
  const own = spellingsFor(credentials.flatMap((one) => [one, JSON.stringify(one).slice(1, -1)]));
  return (text) => hideSpelled(text, known, own);
}

function* hideSpelled(text: string, known: readonly string[], own: readonly string[]): Work<string> {
  const hidden = yield* hideInSlices(yield* hideInSlices(text, known), own);
  const plain = yield* spellOut(hidden);
  if (plain === hidden) return hidden;
  const hiddenPlain = yield* hideInSlices(yield* hideInSlices(plain, known), own);
  // The bytes stay as they came where they spell no secret.
  return hiddenPlain === plain ? hidden : hiddenPlain;
}

function textIn(capture: Capture): string {
  return new TextDecoder().decode(capture.bytes());
}

/** What a JSON text holds for servers that hosted tools call. Of one that is cut off, whatever looks like it. */
function credentialsIn(text: string): string[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return Array.from(text.matchAll(WRITTEN), ([, one, headers]) => one ?? headers ?? "")
      .flatMap((found) => found.split('"')).filter(({ length }) => length >= SHORTEST_MASKED);
  }
  if (!isObject(body)) return [];
  const { tools, messages: _messages, input: _input, ...rest } = body;
  const hosted = Array.isArray(tools) ? tools.filter((tool) => !isFunction(tool)) : [];
  return secretsUnder({ hosted, rest }).filter(({ length }) => length >= SHORTEST_MASKED);
}

/** A function of the client's own describes what it takes, perhaps a token. */
function isFunction(tool: unknown): boolean {
  return isObject(tool) && (tool.type === "function" || "input_schema" in tool || "function" in tool);
}

/** Without recursion: what was refused because it is nested too deep is recorded, too. */
function secretsUnder(root: object): string[] {
  const secrets: string[] = [];
  const open: { value: object; isSecret: boolean }[] = [{ value: root, isSecret: false }];
  for (let one = open.pop(); one; one = open.pop()) {
    for (const [key, inner] of Object.entries(one.value)) {
      const isSecret = one.isSecret || CREDENTIAL.test(key);
      if (typeof inner === "object" && inner !== null) open.push({ value: inner, isSecret });
      else if (typeof inner === "string" && isSecret) secrets.push(inner);
      else if (typeof inner === "string" && ADDRESS.test(key)) secrets.push(...secretsInUrl(inner));
    }
  }
  return secrets;
}

function secretsInUrl(text: string): string[] {
  const url = URL.parse(text);
  if (!url) return [];
  const values = [...url.searchParams].filter(([name]) => isSecretParameter(name)).map(([, value]) => value);
  return [url.password, ...values];
}
