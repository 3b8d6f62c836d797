/** Hides secrets in recorded texts: those that the gateway knows, and those that a client sent for tools. */
import type { CapturedBytes } from "../../context/captured_bytes.ts";
import { secretsInUrl } from "../../util/urls_and_headers.ts";
import type { Capture } from "../../context/capture.ts";
import { finderOf, SHORTEST_MASKED, spellingsFor } from "../../context/secrets.ts";
import { finderFor, hideInSlices, spellOut } from "../../context/secrets_in_slices.ts";
import { isObject } from "../../util/config_text.ts";
import type { WordFinder } from "../../util/word_finder.ts";
import type { SlicedWork } from "../../util/sliced_work.ts";

/** Names of fields with credentials, in the descriptions of hosted tools and of servers of tools. */
const CREDENTIAL = /^(authorization|authorization_token|token|api_key|headers)$/i;

const ADDRESS = /^(server_)?url$/i;

/** Such a field in a text that is not complete JSON, with its text or with everything in its braces. */
const WRITTEN =
  /"(?:authorization|authorization_token|token|api_key|headers)"\s*:\s*(?:"((?:\\.|[^"\\])*)"?|\{([^}]*))/gi;

/** Returns the text without secrets. A text may be as long as a body. */
export type HideLong = (text: string) => SlicedWork<string>;

/** Throws `request_too_large` if the request brings so many credentials that they cannot all be hidden. */
export function* hiderOf(recorded: Capture): SlicedWork<HideLong> {
  const { body, calls } = recorded;
  // The missing part of a body that was cut off may be in the bodies that the gateway made from it.
  const bodies = body.kept < body.length ? [body, ...calls.map((call) => call.body)] : [body];
  const credentials = new Set<string>();
  for (const one of bodies) {
    for (const credential of yield* credentialsIn(textIn(one))) credentials.add(credential);
  }
  const finders = [...recorded.secrets().map(finderOf), yield* finderFor(spelled(credentials))];
  return (text) => hideSpelled(text, finders);
}

function* spelled(credentials: Iterable<string>): Iterable<string> {
  for (const one of credentials) yield* spellingsFor([one, JSON.stringify(one).slice(1, -1)]);
}

function* hideSpelled(text: string, finders: readonly WordFinder[]): SlicedWork<string> {
  const hidden = yield* hideInSlices(text, finders);
  const plain = yield* spellOut(hidden);
  if (plain === hidden) return hidden;
  const hiddenPlain = yield* hideInSlices(plain, finders);
  // A text whose escapes spell no secret is left unchanged.
  return hiddenPlain === plain ? hidden : hiddenPlain;
}

function textIn(capture: CapturedBytes): string {
  return new TextDecoder().decode(capture.bytes());
}

/**
 * The credentials in a JSON text that are meant for servers that hosted tools call. In a text that was cut off,
 * everything that looks like one.
 */
function* credentialsIn(text: string): SlicedWork<Iterable<string>> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return yield* credentialsWrittenIn(text);
  }
  if (!isObject(body)) return [];
  const { tools, messages: _messages, input: _input, ...rest } = body;
  const hosted = Array.isArray(tools) ? tools.filter((tool) => !isFunction(tool)) : [];
  return yield* secretsUnder({ hosted, rest });
}

function* credentialsWrittenIn(text: string): SlicedWork<Iterable<string>> {
  const secrets = new Set<string>();
  for (const [, one, headers] of text.matchAll(WRITTEN)) {
    for (const found of (one ?? headers ?? "").split('"')) if (found.length >= SHORTEST_MASKED) secrets.add(found);
    yield;
  }
  return secrets;
}

/** Whether the tool is a function of the client's own. Its schema may describe a token, which is no credential. */
function isFunction(tool: unknown): boolean {
  return isObject(tool) && (tool.type === "function" || "input_schema" in tool || "function" in tool);
}

/** There is no recursion, because requests that were refused for their depth are recorded as well. */
function* secretsUnder(root: object): SlicedWork<Iterable<string>> {
  const secrets = new Set<string>();
  const add = (secret: string) => void (secret.length >= SHORTEST_MASKED && secrets.add(secret));
  const open: { value: object; isSecret: boolean }[] = [{ value: root, isSecret: false }];
  for (let one = open.pop(); one; one = open.pop()) {
    for (const [key, inner] of Object.entries(one.value)) {
      const isSecret = one.isSecret || CREDENTIAL.test(key);
      if (typeof inner === "object" && inner !== null) open.push({ value: inner, isSecret });
      else if (typeof inner === "string" && isSecret) add(inner);
      else if (typeof inner === "string" && ADDRESS.test(key)) secretsInUrl(inner).forEach(add);
    }
    yield;
  }
  return secrets;
}
