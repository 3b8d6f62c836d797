/** What an MCP server is given to recognize its caller by. A tool may echo it, and the model is not to read it. */
import type { Callee } from "../upstream/send.ts";
import { isSecretHeader, secretsInUrl } from "../util/urls_and_headers.ts";

/** The credentials that go out with each request to a server. */
export function credentialsOf({ baseUrl, secret, headers }: Callee, path: string): string[] {
  return [
    ...secret === undefined ? [] : [secret, ...coresOf(secret)],
    ...Object.entries(headers).flatMap(([name, value]) => isSecretHeader(name) ? coresOf(value) : []),
    ...secretsInUrl(`${baseUrl}/${path}`),
  ];
}

/** What of a credential a server may name alone: each word, the value of a cookie, the password of "Basic". */
function coresOf(value: string): string[] {
  return value.split(/[\s;,]+/).flatMap((word) => {
    const [, core] = /^[^=]+=(.*[^=].*)$/.exec(word) ?? [];
    const [, password] = /^[^:]*:(.*)$/s.exec(decoded(word)) ?? [];
    return [word, core ?? [], password ?? []].flat();
  });
}

function decoded(word: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(word));
  } catch {
    return "";
  }
}
