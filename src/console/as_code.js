// @ts-check
/** A request as a program that its reader can run elsewhere. The key is a variable in it. */

/** The variable that holds the key. */
export const KEY = "LANEWAY_KEY";

/** @typedef {{ wire: string, path: string, body: unknown }} Asked */

/**
 * `address`: the gateway's own, with a slash at its end.
 * @type {Readonly<Record<string, { title: string, write(asked: Asked, address: string): string }>>}
 */
export const LANGUAGES = {
  curl: { title: "curl", write: inCurl },
  python: { title: "Python", write: inPython },
  typescript: { title: "TypeScript", write: inTypeScript },
};

/** @param {Asked} asked @param {string} address */
function inCurl({ path, body }, address) {
  return [
    `curl -N ${quoted(address + path)}`,
    `-H "authorization: Bearer $${KEY}"`,
    `-H 'content-type: application/json'`,
    `--data-raw ${quoted(JSON.stringify(body))}`,
  ].join(" \\\n  ");
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** @param {Asked} asked @param {string} address */
function inPython({ path, body }, address) {
  return `import json
import os
import urllib.request

body = ${pythonValue(body, 0)}
request = urllib.request.Request(
    ${JSON.stringify(address + path)},
    data=json.dumps(body).encode(),
    headers={
        "authorization": "Bearer " + os.environ["${KEY}"],
        "content-type": "application/json",
    },
)
with urllib.request.urlopen(request) as answer:
    for line in answer:
        print(line.decode(), end="")
`;
}

/** @param {unknown} value @param {number} depth @returns {string} */
function pythonValue(value, depth) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = "    ".repeat(depth + 1);
  const outer = "    ".repeat(depth);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((item) => pythonValue(item, depth + 1))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${pythonValue(item, depth + 1)}`);
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${outer}${close}`;
}

/** @param {Asked} asked @param {string} address */
function inTypeScript({ path, body }, address) {
  return `const body = ${JSON.stringify(body, null, 2)};
const answer = await fetch(${JSON.stringify(address + path)}, {
  method: "POST",
  headers: {
    authorization: \`Bearer \${process.env.${KEY}}\`,
    "content-type": "application/json",
  },
  body: JSON.stringify(body),
});
const decoder = new TextDecoder();
for await (const piece of answer.body!) process.stdout.write(decoder.decode(piece, { stream: true }));
`;
}
