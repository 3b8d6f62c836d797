/** Explains by the platform's message why a server could not be reached, and how to fix it. */

export interface Unreached {
  check: string;
  message: string;
  cure: string;
}

type Kind = readonly [words: RegExp, check: string, message: (host: string) => string, cure: string];

/** Patterns for Deno's and Node's messages. */
const KINDS: readonly Kind[] = [
  [
    /NotCapable|Requires net access|ERR_ACCESS_DENIED/,
    "permission-missing",
    (host) => `The process is not permitted to call ${host}`,
    "Start the gateway with deno task -q laneway, or with the options that the command permissions prints",
  ],
  [
    /dns error|ENOTFOUND|EAI_AGAIN|getaddrinfo/,
    "host-unknown",
    (host) => `${host} has no DNS entry`,
    "Correct the host in baseUrl, or this machine's network and DNS settings",
  ],
  [
    /certificate.*Expired|CERT_HAS_EXPIRED|certificate has expired/i,
    "tls-expired",
    (host) => `The certificate of ${host} has expired`,
    "Renew the certificate; if it is valid, correct this machine's clock",
  ],
  [
    /NotValidForName|ERR_TLS_CERT_ALTNAME/,
    "tls-name",
    (host) => `The certificate of ${host} is for another name`,
    "Use a name that is in the certificate in baseUrl",
  ],
  [
    /invalid peer certificate|self[- ]signed|UNABLE_TO_VERIFY|UnknownIssuer/i,
    "tls-untrusted",
    (host) => `The certificate of ${host} is from an issuer that this machine does not trust`,
    "Name the issuer's certificate with the variable DENO_CERT (NODE_EXTRA_CA_CERTS on Node)",
  ],
  [
    /InvalidContentType|wrong version number|SSL routines/i,
    "tls-missing",
    (host) => `${host} does not speak TLS`,
    "Use http:// in baseUrl instead of https://",
  ],
  [
    /invalid HTTP version|HPE_INVALID/i,
    "not-http",
    (host) => `${host} does not answer with HTTP`,
    "Use https:// in baseUrl if the server has TLS, or correct the port",
  ],
  [
    /ECONNREFUSED|connection refused|tcp connect error/i,
    "connection-refused",
    (host) => `Nothing is listening at ${host}`,
    "Start the server, or correct the host and port in baseUrl",
  ],
  [
    /TimeoutError|timed? ?out/i,
    "silent",
    (host) => `${host} does not answer in time`,
    "Check whether the server is overloaded, loading a model, or behind a firewall",
  ],
];

/** `host`: the host of the call, as `name:port`. */
export function whyUnreached(thrown: unknown, host: string): Unreached {
  const words = wordsOf(thrown);
  const kind = KINDS.find(([pattern]) => pattern.test(words));
  if (kind) return { check: kind[1], message: kind[2](host), cure: kind[3] };
  return {
    check: "connection-lost",
    message: `The connection to ${host} was lost before an answer`,
    cure: "Check the server's own log: it may have crashed, or a proxy may have cut the connection",
  };
}

function wordsOf(thrown: unknown): string {
  const words: string[] = [];
  for (let error = thrown; error instanceof Error; error = error.cause) {
    words.push(`${error.name} ${(error as { code?: string }).code ?? ""} ${error.message}`);
  }
  return words.join(" ");
}
