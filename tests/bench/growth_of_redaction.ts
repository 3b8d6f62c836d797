/** Redaction takes linear time, whatever a client or an upstream writes. */
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { Placeholders } from "../../plugins/redact/placeholder.ts";
import { recognitionOf, redactValue } from "../../plugins/redact/redact.ts";
import { GatewayError } from "../../src/errors.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { ALL, passed, restored } from "../plugins/redact/support.ts";
import { growsLinearly } from "./grows_linearly.ts";

const RECOGNITION = recognitionOf(ALL);

/** Without pauses, in which others would be measured. A text with too many secrets is refused. */
function redacted(text: string): void {
  try {
    runUnsliced(redactValue(text, RECOGNITION, new Placeholders(new Uint8Array(32), "")));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

const HOSTILE: Record<string, string> = {
  "one letter": "a",
  "digits": "4",
  "digits and spaces": "4 ",
  "digits and signs": "+1(2) 3-",
  "places of addresses": "@a.",
  "words with hyphens and addresses": "a-a.a@a-a.a-",
  "colons": "a:",
  "dots": "1.1.",
  "beginnings of tokens": "eyJ",
  "beginnings of tokens and dots": "eyJaaaaaa.",
  "keys": "sk-a",
  "keys with bounds": " sk-aaaa",
  "beginnings of private keys": "-----BEGIN PRIVATE KEY ",
  "ends of private keys": "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----",
  "schemes": "a://",
  "credentials": "a://b:c",
  "bearers": "bearer  aaaaaaaa ",
  "assignments": "password=",
  "assignments of references": "password=$",
  "assignments of secrets": 'password="hunter2" ',
  "open quotes": "password='",
  "different quotes": "password=\"password='password=`",
  "escaped quotes": 'password=\\"\\\\\\"',
  "names": "password_token_secret",
  "spaces": "password        ",
  "random values": "=aB3dE5gH7jK9mN1pQ3rS",
  "assigned values": "x=aaaaaaaaaaaaaaaaaaaaa",
  "accounts": "DE89 ",
  "placeholders": "redacted-secret-",
  "whole look-alikes": "redacted-secret-aaaaaaaaaaaaaaaa",
  "invisible characters": "a\u200b@",
  "escapes": "\\u0061",
  "backslashes": "\\",
  "strings": '"a"',
  "cookies": "cookie: a=b",
  "logins": " -u a:b",
  "arguments": " --password ",
  "tags": "<password>a",
};

for (const [name, unit] of Object.entries(HOSTILE)) {
  const of = (size: number) => unit.repeat(Math.ceil(size / unit.length));
  growsLinearly(`redact reads ${name}`, of, redacted);
}

growsLinearly(
  "redact reads JSON inside a text",
  (size) => `[${'{"a\\"b":"x y z"},'.repeat(size / 16)}{}]`,
  redacted,
);
growsLinearly(
  "redact reads brackets",
  (size) => "[".repeat(size) + '"' + "]".repeat(size),
  redacted,
);
growsLinearly(
  "redact reads many secrets, each of which is searched for in all texts",
  (size) =>
    Array.from({ length: Math.min(9_000, size / 40) }, (_, at) => `password=hunter${at}x `).join("") +
    " hunter".repeat(size / 8),
  redacted,
);

for (const piece of ["redacted-", "r", "redacted-secret-a"]) {
  growsLinearly(
    `redact restores a stream of ${piece}`,
    (size) => piece.repeat(Math.ceil(size / piece.length)),
    async (text) => {
      const input = {
        model: "m",
        stream: true,
        messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "password=hunter2" }] }],
      };
      const events: GenerateEvent[] = [{ type: "part-start", index: 0, part: { type: "text", text: "" } }];
      for (const letter of text) events.push({ type: "part-delta", index: 0, delta: { type: "text", text: letter } });
      restored(await passed("generate", input), [...events, { type: "part-end", index: 0 }]);
    },
    4_000,
  );
}
