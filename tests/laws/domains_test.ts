/** A place on the web has many spellings. A request's list of domains covers all of them, or none. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { isWithin } from "../../src/hosted/domains.ts";
import { law } from "../support/law.ts";

/** Hosts by the ways in which the same one is written. */
const HOSTS = [
  ["evil.com", "Evil.COM", "evil.com.", "ｅｖｉｌ.com", "evil。com"],
  ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.Example.", "b%C3%BCcher.example"],
  ["127.0.0.1", "127.1", "0x7f.0.0.1", "2130706433"],
] as const;
const SEGMENTS = ["docs", "a-b", "v1.2", "é", "~me"] as const;

/** One segment, with any of its letters as an escape, in any case. */
const segment = (text: string) =>
  fc.array(fc.nat(3), { minLength: text.length, maxLength: text.length }).map((ways) =>
    [...text].map((letter, at) => {
      const escape = letter > "~" ? encodeURIComponent(letter) : `%${letter.charCodeAt(0).toString(16)}`;
      const spelled = [letter, letter.toUpperCase(), escape, escape.toLowerCase()][ways[at]!]!;
      return letter === "." && ways[at]! > 1 ? "%2E" : spelled;
    }).join("")
  );

/** What stands between two segments, or at the end, and says nothing. */
const slash = fc.constantFrom("/", "//", "/./", "\\", "/x/../", "/%2e/", "%2f", "/y/%2E%2e/");

const spelledPath = (segments: readonly string[]) =>
  fc.tuple(
    fc.array(slash, { minLength: segments.length, maxLength: segments.length }),
    fc.tuple(...segments.map(segment)),
    fc.constantFrom("", "/", "//", "/."),
  ).map(([slashes, spelled, end]) =>
    // An escaped slash is none of the URL's own, so it cannot be the first.
    slashes.map((slash, at) => `${at === 0 && slash === "%2f" ? "/" : slash}${spelled[at]}`).join("") + end
  );

const place = fc.record({
  host: fc.nat(HOSTS.length - 1),
  path: fc.array(fc.constantFrom(...SEGMENTS), { maxLength: 3 }),
});

const host = (at: number) => fc.constantFrom(...HOSTS[at]!);
const entryOf = (at: number, path: readonly string[]) =>
  fc.tuple(
    fc.constantFrom("", "http://", "https://", "HTTPS://", "//"),
    fc.constantFrom("", "*."),
    host(at),
    spelledPath(path),
  )
    .map(([scheme, star, host, path]) => scheme + (/^\d/.test(host) ? "" : star) + host + path);
const addressOf = (at: number, path: readonly string[], below: string) =>
  fc.tuple(
    fc.constantFrom("http://", "https://", "HTTP:\\\\"),
    host(at),
    spelledPath(path),
    fc.constantFrom("", "?q=1", "#x"),
  )
    .map(([scheme, host, path, end]) => scheme + (/^\d/.test(host) ? "" : below) + host + path + end);

law(
  "domains: an entry covers every spelling of its place, and of what is below it",
  place.chain(({ host, path }) =>
    fc.record({
      entry: entryOf(host, path),
      address: fc.tuple(fc.constantFrom("", "Sub."), fc.constantFrom([], ["more"])).chain(([sub, more]) =>
        addressOf(host, [...path, ...more], sub)
      ),
    })
  ),
  ({ entry, address }) => {
    assertEquals([isWithin(address, { allowed: [entry] }), isWithin(address, { blocked: [entry] })], [true, false]);
  },
);

law(
  "domains: an entry covers no spelling of another place",
  place.chain(({ host, path }) =>
    fc.record({
      entry: entryOf(host, [...path, "docs"]),
      address: fc.oneof(
        addressOf(host, [...path, "docsy"], ""),
        addressOf(host, [...path, "v1.2"], ""),
        addressOf(host, path.slice(0, -1), ""),
        addressOf((host + 1) % HOSTS.length, [...path, "docs"], ""),
      ),
    })
  ),
  ({ entry, address }) => {
    assertEquals([isWithin(address, { allowed: [entry] }), isWithin(address, { blocked: [entry] })], [false, true]);
  },
);
