/** The texts that the guide proposes: names of models, and the command and the file for users without a launcher. */
import { assert, assertEquals } from "@std/assert";
import { commandsOf, fileOf } from "../../src/console/by_hand.js";
import { wholePath } from "../../src/console/file_view.js";
import { freeName, isForChat } from "../../src/console/model_names.js";
import type { Answers } from "../../src/programs/init/answers.ts";
import { parseOptions } from "../../src/programs/init/options.ts";
import { load } from "../programs/init/facts.ts";

const ANSWERS: Answers = {
  sources: [
    { kind: "hub" },
    { kind: "provider", provider: "groq" },
    { kind: "provider", provider: "azure", baseUrl: "https://mine.openai.azure.com/openai/v1" },
    { kind: "server", baseUrl: "http://127.0.0.1:9000/v1" },
  ],
  models: [
    { name: "fast one", upstream: "groq", model: "openai/gpt-oss-20b" },
    { name: "it's", upstream: "local", model: "qwen3:8b" },
  ],
  default: "it's",
};

Deno.test("guide: a file is named by its whole path where the folder is known", () => {
  const paths = [
    wholePath("gateway.json", "/home/anna"),
    wholePath("gateway.json", "/"),
    wholePath("/etc/gateway.json", "/home/anna"),
    wholePath("gateway.json", "C:\\lane"),
    wholePath("D:\\gateway.json", "C:\\lane"),
    wholePath("gateway.json"),
  ];
  assertEquals(paths, [
    "/home/anna/gateway.json",
    "/gateway.json",
    "/etc/gateway.json",
    "C:\\lane\\gateway.json",
    "D:\\gateway.json",
    "gateway.json",
  ]);
});

Deno.test("guide: a model gets a short name that nobody has, and a typed one stays", () => {
  const names = ["openai/gpt-oss-120b", "qwen3-coder:30b", "qwen3:latest", "/models/Llama-3.gguf", "größe/Ä ß"];
  assertEquals(names.map((name) => freeName(name, [])), [
    "gpt-oss-120b",
    "qwen3-coder-30b",
    "qwen3",
    "llama-3",
    "-",
  ]);
  assertEquals(freeName("a/m", ["m", "m-2"]), "m-3");
  assertEquals(freeName("Mine/One", [], true), "Mine/One");
});

Deno.test("guide: models that write no answers are proposed last", () => {
  const others = ["nomic-embed-text", "BAAI/bge-m3", "whisper-large-v3", "tts-1", "jina-reranker-v2"];
  assertEquals(others.filter(isForChat), []);
  assert(["openai/gpt-oss-120b", "gemma-3", "mixtral-8x7b", "imagine-chat"].every(isForChat));
});

/** The arguments as a shell reads them. */
async function wordsOf(command: string): Promise<string[]> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", `printf '%s\\n' ${command}`] }).output();
  return new TextDecoder().decode(stdout).trimEnd().split("\n");
}

Deno.test("guide: the commands by hand are those that init takes, whatever the names", async () => {
  const commands = await Promise.all(commandsOf("deno task -q laneway", ANSWERS).split("\n").map(wordsOf));
  const parsed = commands.map((words) => parseOptions(words.slice(5)));
  assertEquals(commands[0]!.slice(0, 6), ["deno", "task", "-q", "laneway", "init", "--hub"]);
  assertEquals(parsed.flatMap(({ sources }) => sources.map(({ kind }) => kind)), [
    "hub",
    "provider",
    "provider",
    "server",
  ]);
  assertEquals(parsed[2]!.sources.map((source) => "baseUrl" in source && source.baseUrl), [
    "https://mine.openai.azure.com/openai/v1",
  ]);
  const models = parsed.flatMap(({ models }) => models.map(({ name, upstream, model }) => ({ name, upstream, model })));
  assertEquals(models, ANSWERS.models);
  assertEquals(parsed.map((one) => one.default), [undefined, undefined, undefined, "it's"]);
});

Deno.test("guide: the file by hand is a configuration with these models", () => {
  const { upstreams, lanes: { oss } } = load(fileOf(ANSWERS));
  assertEquals(upstreams.local?.baseUrl, "http://127.0.0.1:9000/v1");
  assertEquals(upstreams.azure?.baseUrl, "https://mine.openai.azure.com/openai/v1");
  assertEquals(oss?.models["fast one"]?.targets, [{ upstream: "groq", model: "openai/gpt-oss-20b" }]);
  assertEquals(oss?.models["*"]?.targets, [{ upstream: "local", model: "qwen3:8b" }]);
});
