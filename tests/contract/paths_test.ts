/** The protocols that are found for a path segment by segment are those whose patterns match it. */
import { assertEquals } from "@std/assert";
import { protocols as builtIn } from "../../plugins/mod.ts";
import { createPathFinder } from "../../src/contract/paths.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol } from "../../src/contract/protocol.ts";

const [first] = builtIn as [AnyProtocol];
const withPattern = (pattern: URLPattern): AnyProtocol => ({ ...first, name: pattern.pathname, pattern });
const path = (pathname: string) => withPattern(new URLPattern({ pathname }));

/** Patterns of strangers' plugins, among them some that are more than words and groups. */
const STRANGE = [
  path("/"),
  path("/:lane"),
  path("/:lane/"),
  path("/:lane/v1/*"),
  path("/:lane/v1/models/:id(.+)\\:run"),
  path("/:lane/v1/models/:id\\:run"),
  { ...first, name: "run", pattern: new PathPattern("/:lane/v1/models/:id(.+)\\:go") },
  { ...first, name: "run all", pattern: new PathPattern("/:rest(.+)\\:go") },
  path("/:lane/v1/models"),
  path("/:lane/v1/models/:id?"),
  path("/:lane/v1/models/:id"),
  path("/:lane/v1/models/:id(.*)"),
  path("/:lane/v1/models/:id(\\d+)"),
  path("/:lane/v1/:kind/:id(.+)"),
  path("/:rest(.+)"),
  path("/:lane/v1{/beta}?/chat"),
  path("/:lane/V1/chat"),
  path("/:lane/v1/x-:name"),
  path("/:lane/v1.0/a~b/c_d"),
  path("/:lane/v1/%C3%BC"),
  path("/:lane/v1/ü"),
  withPattern(new URLPattern({ pathname: "/:lane/v1/host", hostname: "other" })),
  withPattern(new URLPattern({ pathname: "/:lane/v1/chat" }, { ignoreCase: true })),
];

const WORDS = [
  ...["oss", "v1", "v2", "V1", "v1.0", "beta", "chat", "CHAT", "completions", "messages", "count_tokens", "models"],
  ...["responses", "input_items", "cancel", "compact", "input_tokens", "api", "tags", "show", "version", "host"],
  ...[
    "audio",
    "speech",
    "rerank",
    "embeddings",
    "a~b",
    "c_d",
    "x-y",
    "7",
    "org",
    "name:fastest",
    "name:run",
    "a:b:go",
    ":go",
    "go",
    "*",
    ":lane",
    "ü",
  ],
  ...["", "", ".", "..", "%2F", "%2e%2e", "%", "%zz", "%00", "a b", "a%20b", "\\", "😀", "(.+)", "{", "constructor"],
];

/** From a seed, so that each run asks the same. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor(state / 0x7fffffff * below) % below;
  };
}

function* paths(count: number): Generator<string> {
  const below = randomFrom(14);
  const pick = (texts: readonly string[]) => texts[below(texts.length)]!;
  const known = [...builtIn, ...STRANGE].map(({ pattern }) => pattern.pathname.replace(":lane", "oss"));
  for (let made = 0; made < count; made++) {
    const parts = made % 2 === 0
      ? Array.from({ length: 1 + below(6) }, () => pick(WORDS))
      : pick(known).slice(1).split("/").map((part) => below(8) === 0 || part.startsWith(":") ? pick(WORDS) : part);
    yield `/${parts.join("/")}${pick(["", "", "", "/", "//", "/x/y"])}`;
  }
}

function scan(protocols: readonly AnyProtocol[], pathname: string) {
  return protocols.flatMap((protocol) => {
    const groups = protocol.pattern.exec({ pathname })?.pathname.groups;
    return groups ? [{ name: protocol.name, groups: { ...groups } }] : [];
  });
}

const SETS: Record<string, readonly AnyProtocol[]> = {
  "the built-in protocols": builtIn,
  "strange patterns": STRANGE,
  "both, mixed": [...STRANGE, ...builtIn, ...STRANGE].map((protocol, at) => ({ ...protocol, name: `${at}` })),
};

for (const [name, protocols] of Object.entries(SETS)) {
  Deno.test(`paths: of ${name}, those are found whose patterns match, in their order, with the same groups`, () => {
    const find = createPathFinder(protocols);
    let matched = 0;
    for (const raw of paths(6_000)) {
      // As the platform gives the path of a request: dots resolved, characters escaped.
      const pathname = URL.parse(`http://gateway${raw}`)?.pathname ?? "/";
      const wanted = scan(protocols, pathname);
      // Once more, when it may be remembered.
      for (const candidates of [find(pathname), find(pathname)]) {
        const found = candidates.map(({ protocol, groups }) => ({ name: protocol.name, groups: { ...groups } }));
        assertEquals(found, wanted, pathname);
      }
      if (wanted.length > 0) matched++;
    }
    assertEquals(matched > 200, true, `only ${matched} of the paths were served`);
  });
}

Deno.test("paths: no pattern of the built-in protocols has to be asked itself", () => {
  const withoutExec = builtIn.map((protocol) => {
    const { pathname, protocol: scheme, hostname, port, search, hash, username, password } = protocol.pattern;
    const parts = { pathname, protocol: scheme, hostname, port, search, hash, username, password };
    const exec = () => {
      throw new Error(`${pathname} was asked`);
    };
    return { ...protocol, pattern: { ...parts, exec, test: () => false } as unknown as URLPattern };
  }) as AnyProtocol[];
  assertEquals(createPathFinder(withoutExec)("/oss/v1/messages").map(({ groups }) => groups), [{ lane: "oss" }]);
});

Deno.test("paths: no pattern of the built-in protocols is made before it is asked itself", () => {
  const { URLPattern: original } = globalThis;
  const made: unknown[] = [];
  globalThis.URLPattern = class extends original {
    constructor(...parts: ConstructorParameters<typeof original>) {
      super(...parts);
      made.push(parts);
    }
  } as typeof original;
  try {
    const find = createPathFinder(builtIn);
    assertEquals(find("/oss/v1/models/a/b").map(({ groups }) => groups)[0], { lane: "oss", id: "a/b" });
    assertEquals(made, []);
    assertEquals(builtIn[0]!.pattern.test({ pathname: "/nowhere" }), false);
    assertEquals(made.length <= 1, true);
  } finally {
    globalThis.URLPattern = original;
  }
});
