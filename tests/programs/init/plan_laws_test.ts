/** The laws of a plan: any answers and any valid configuration with comments give a valid one in which nothing else has changed. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import type { Answers, ChosenModel, Source } from "../../../src/programs/init/answers.ts";
import { planFiles } from "../../../src/programs/init/plan.ts";
import { withoutComments } from "../../../src/util/config_text.ts";
import { law } from "../../support/law.ts";
import { FACTS, load } from "./facts.ts";

const SECRET = "a-secret-of-this-law-";

/** Sources, and the upstream of each. */
const SOURCES: readonly (readonly [source: Source, upstream: string])[] = [
  [{ kind: "hub", secret: `${SECRET}1` }, "router"],
  [{ kind: "hub", secretEnv: "MINE" }, "router"],
  [{ kind: "provider", provider: "groq", secret: `${SECRET}2` }, "groq"],
  [{ kind: "provider", provider: "groq", secretEnv: "OTHER", name: "second" }, "second"],
  [{ kind: "provider", provider: "openai" }, "openai"],
  [{ kind: "provider", provider: "azure", baseUrl: "mine", secret: `${SECRET}3` }, "azure"],
  [{ kind: "provider", provider: "anthropic", secret: `${SECRET}4` }, "anthropic"],
  [{ kind: "server", baseUrl: "http://127.0.0.1:11434/v1", title: "Ollama 0.14" }, "ollama"],
  [{ kind: "server", baseUrl: "http://127.0.0.1:8000/v1", title: "vLLM 0.9" }, "vllm"],
  [{ kind: "server", baseUrl: "http://gpu.test:30000/v1", title: "SGLang 0.5", secret: `${SECRET}5` }, "sglang-gpu"],
  [
    { kind: "server", baseUrl: "http://127.0.0.1:8085/v1/", title: "Text Embeddings Inference 1.9" },
    "text-embeddings-inference-8085",
  ],
  [{ kind: "server", baseUrl: "https://models.test/api" }, "server-models"],
  [{ kind: "sandbox" }, "sandbox"],
];

const NAMES = ["fast", "gpt-oss-120b", "glm-5.3", "mine/with.dots", "*odd*", "größe"];
const MODELS = ["openai/gpt-oss-120b", "zai-org/GLM-5.3", "nomic-embed-text:latest", "sandbox"];

const answers: fc.Arbitrary<Answers> = fc.subarray([...SOURCES]).chain((chosen) => {
  const sources = chosen.filter(([, name], at) => chosen.findIndex(([, other]) => other === name) === at);
  const upstreams = sources.map(([, name]) => name).filter((name) => !/sandbox|inference/.test(name));
  const model: fc.Arbitrary<ChosenModel[]> = upstreams.length === 0 ? fc.constant([]) : fc.uniqueArray(
    fc.record({
      name: fc.constantFrom(...NAMES),
      upstream: fc.constantFrom(...upstreams),
      model: fc.constantFrom(...MODELS),
    }),
    { selector: ({ name }) => name, maxLength: 4 },
  );
  return model.chain((models: ChosenModel[]) => {
    const names = models.map(({ name }) => name).filter((name) => !name.includes("*"));
    return fc.option(fc.constantFrom("sandbox-of-old", ...names), { nil: undefined }).map((name) => ({
      sources: sources.map(([source]) => source),
      models,
      ...name !== undefined && names.includes(name) && { default: name },
    }));
  });
});

const LOCAL = { driver: "chat", baseUrl: "http://127.0.0.1:9/v1" };
const target = (upstream: string) => ({ task: "chat", targets: [{ upstream, model: "their/model" }] });
/** Sections of a configuration that is there. */
const SECTIONS: readonly JsonObject[] = [
  { upstreams: { local: LOCAL, groq: { provider: "groq", secret: { env: "GROQ" } } } },
  { upstreams: { local: LOCAL, router: { secret: { env: "ROUTER" } }, ollama: { provider: "ollama" } } },
  { upstreams: { local: { ...LOCAL, headers: { "x-note": "kept // as it is" }, refuses: [] } } },
  { listen: { port: 8000 }, observe: {} },
  { listen: { hostname: "127.0.0.1" } },
  { keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] },
];
const LANES: readonly JsonObject[] = [
  { oss: { models: { fast: target("local"), "*": target("local"), "glm-*": target("local") } } },
  { oss: { models: {} }, vllm: { upstreams: { chat: "local" } } },
  { oss: { upstreams: { chat: "local" } } },
  { team: { models: { "glm-5.3": target("local") } } },
];

const standing: fc.Arbitrary<JsonObject> = fc.record({
  isExtended: fc.boolean(),
  sections: fc.uniqueArray(fc.integer({ min: 0, max: SECTIONS.length - 1 }), { maxLength: 3 }),
  lanes: fc.constantFrom(...LANES),
}).map(({ isExtended, sections, lanes }) => ({
  ...isExtended && { extends: "default" },
  upstreams: { local: LOCAL },
  // The second one needs the built-in configuration.
  ...Object.assign({}, ...sections.filter((at) => at !== 1 || isExtended).map((at) => SECTIONS[at])),
  lanes,
}));

interface Style {
  indent: string;
  eol: string;
  /** Drawn from for each place where a comment or a comma may be. */
  dice: number[];
  mark: boolean;
}

const style: fc.Arbitrary<Style> = fc.record({
  indent: fc.constantFrom("  ", "\t", "    "),
  eol: fc.constantFrom("\n", "\r\n"),
  dice: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 40, maxLength: 40 }),
  mark: fc.boolean(),
});

/** The text of a configuration with comments in every place, numbered in their order. */
function written(config: JsonObject, { indent, eol, dice, mark }: Style): { text: string; comments: string[] } {
  const comments: string[] = [];
  let thrown = 0;
  const roll = () => dice[thrown++ % dice.length]!;
  const comment = (isBlock: boolean) => {
    const text = isBlock ? `/* note ${comments.length}, { */` : `// note ${comments.length}, "}`;
    comments.push(text);
    return text;
  };
  const print = (value: JsonValue | undefined, depth: number): string => {
    if (Array.isArray(value)) return `[${value.map((one) => print(one, depth)).join(", ")}]`;
    if (!isJsonObject(value)) return JSON.stringify(value);
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    if (roll() === 7) {
      const inner = entries.map(([name, one]) => `${JSON.stringify(name)}:${print(one, depth + 1)}`).join(",");
      return `{${inner}${roll() > 5 ? ` ${comment(true)}` : ""}}`;
    }
    const inside = indent.repeat(depth + 1);
    const lines = entries.flatMap(([name, one], at) => {
      const above = roll() > 5 ? [inside + comment(false)] : [];
      const body = `${inside}${JSON.stringify(name)}: ${print(one, depth + 1)}`;
      const isLast = at === entries.length - 1;
      const comma = !isLast || roll() > 4 ? "," : "";
      const ends = [`${body}${comma}`, `${body}${comma}${roll() > 4 ? ` ${comment(roll() > 3)}` : ""}`];
      return [...above, ends[1]!];
    });
    const below = roll() > 5 ? [inside + comment(false)] : [];
    return ["{", ...lines, ...below, `${indent.repeat(depth)}}`].join(eol);
  };
  const head = roll() > 3 ? comment(false) + eol : "";
  const text = `${mark ? "\ufeff" : ""}${head}${print(config, 0)}${eol}`;
  return { text, comments };
}

function parse(text: string): JsonObject {
  return JSON.parse(withoutComments(text.replace(/^\ufeff/, "")));
}

/** The values of the one that the other does not have any more, except lists that have got longer and places of secrets. */
function lostValues(one: JsonValue, other: JsonValue | undefined, path: string): string[] {
  if (/\.secret(\.|$)/.test(path)) return [];
  if (isJsonObject(one) && isJsonObject(other)) {
    return Object.entries(one).flatMap(([name, value]) => lostValues(value!, other[name], `${path}.${name}`));
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    const texts = other.map((value) => JSON.stringify(value));
    return one.filter((value) => !texts.includes(JSON.stringify(value))).map(() => path);
  }
  return JSON.stringify(one) === JSON.stringify(other) ? [] : [path];
}

/** A line with a whole value, or with the end of one, and a comment behind it. */
const BESIDE = /^\s*(?:\}|"[\w-]+": "[^"]*"),?\s+(?:\/\/ note[^/]*|\/\* note [^*]*\*\/)$/;
const withoutCommas = (line: string) => line.replace(/,(?=\s*(\/[/*].*)?$)/, "").trim();

law(
  "init: a plan keeps every comment and value of any configuration, and is valid",
  fc.tuple(answers, standing, style),
  (
    [given, config, look],
  ) => {
    const { text, comments } = written(config, look);
    load(text);
    const planned = planFiles(given, { path: "gateway.json", text }, FACTS);
    if ("problems" in planned) {
      // An upstream of that name is somebody else's, or a model's name is a pattern.
      assert(planned.problems.every(({ path }) => /^(sources|models)\.\d+\.\w+$/.test(path)), JSON.stringify(planned));
      return;
    }
    const after = planned.files.at(-1)!.text;
    load(after);
    assertEquals(lostValues(parse(text), parse(after), ""), []);
    let from = 0;
    for (const comment of comments) {
      const found = after.indexOf(comment, from);
      assert(found >= 0, `${comment} is lost or has moved in\n${after}`);
      from = found + comment.length;
    }
    const lines = new Set(after.split(/\r?\n/).map(withoutCommas));
    const beside = text.split(/\r?\n/).filter((line) => BESIDE.test(line) && !/secret|env/.test(line));
    assertEquals(beside.map(withoutCommas).filter((line) => !lines.has(line)), []);
    assertEquals(after.startsWith("\ufeff"), text.startsWith("\ufeff"));
    assert(!after.includes(SECRET), after);
    if (look.eol === "\r\n") assert(!/[^\r]\n/.test(after), "its lines end in two ways");
    const again = planFiles(given, { path: "gateway.json", text: after }, FACTS);
    assertEquals("files" in again ? again.files.at(-1)!.text : again, after);
  },
);

law("init: a new file is valid, has no secret, and planning again changes nothing", answers, (given) => {
  const planned = planFiles(given, { path: "gateway.json" }, FACTS);
  assert("files" in planned, JSON.stringify(planned));
  const { text } = planned.files.at(-1)!;
  load(text);
  assert(!text.includes(SECRET), text);
  const wanted = given.sources.flatMap((source) => "secret" in source ? [`${source.secret}\n`] : []);
  assertEquals(planned.files.filter(({ isSecret }) => isSecret).map(({ text }) => text), wanted);
  const again = planFiles(given, { path: "gateway.json", text }, FACTS);
  assertEquals("files" in again ? again.files.at(-1)!.text : again, text);
});
