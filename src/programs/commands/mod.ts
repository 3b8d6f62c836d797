/** Every command: help, dispatch, "did you mean" and the completion of shells follow from this table. */
import { command, CONFIG, DEFAULT_GATEWAY, FOR_NODE, HELP, JSON_OUTPUT, LISTEN } from "./command.ts";
import { KEY_COMMANDS } from "./keys.ts";
import { VERIFY, VERSION } from "./release.ts";

/** The gateway itself, which has no name. */
export const SERVE = command({
  name: "",
  group: "",
  about: "Starts the gateway, or runs a command.",
  options: {
    config: {
      type: "string",
      value: "<file>",
      help: "the configuration (default: what LANEWAY_CONFIG names,\nor ./gateway.json, or the built-in default)",
      words: "file",
    },
    hostname: { type: "string", value: "<name>", help: "the address to listen on, instead of the configured one" },
    port: { type: "string", value: "<number>", help: "the port, instead of the configured one; 0 for a free one" },
    workers: { type: "string", value: "<number>", help: "how many processes to run, on Linux" },
    ...HELP,
    version: { type: "boolean", help: "show the version" },
  },
  examples: ["--port 8080", "--config team.json"],
});

export const INIT = command({
  name: "init",
  group: "Set up",
  summary: "asks where models come from, and writes the configuration",
  operands: "[find|check|plan|write]",
  about: "Sets up where models come from: asks, tests each source, shows the files and writes\n" +
    "them. It adds to a configuration that is already there. With --hub, --provider, --server\n" +
    "or --sandbox it asks nothing.\n\n" +
    "Other programs use its steps, with --json: find prints the model servers and clients on\n" +
    "this machine; check tests the source that is on standard input; plan prints the files\n" +
    "for the answers that are on standard input, and write writes them.",
  options: {
    hub: { type: "boolean", help: "the hub of the built-in configuration" },
    provider: {
      type: "string",
      multiple: true,
      value: "<name>",
      help: "a provider, such as those in docs/providers.md",
      words: "provider",
    },
    server: { type: "string", multiple: true, value: "<URL>", help: "a model server" },
    sandbox: { type: "boolean", help: "the built-in sandbox, which needs no key" },
    "base-url": { type: "string", value: "<URL>", help: "the address at a provider that has one for each user" },
    name: { type: "string", value: "<name>", help: "the name of the upstream" },
    "secret-env": { type: "string", value: "<name>", help: "the variable that holds the key" },
    secret: {
      type: "string",
      value: "-",
      help: "read the key from standard input, and write it into a\nfile of its own that only you can read",
    },
    model: { type: "string", multiple: true, value: "<spec>", help: "a model for clients: name=upstream/model" },
    default: { type: "string", value: "<name>", help: "the model that answers for every other name" },
    version: { type: "string", value: "<version>", help: "for write: the version that plan printed" },
    except: { type: "string", value: "<URL>", help: "for find: an address that is not looked at" },
    print: { type: "boolean", help: "print the files without writing them" },
    yes: { type: "boolean", help: "do not ask before writing" },
    "no-check": { type: "boolean", help: "do not test the sources" },
    ...CONFIG,
    ...JSON_OUTPUT,
  },
  examples: ["init", "init --server http://127.0.0.1:8080/v1 --yes"],
  words: ["find", "check", "plan", "write"],
});

export const CONNECT = command({
  name: "connect",
  group: "Set up",
  summary: "sets up clients for this gateway and tests them",
  operands: "[<client> ...]",
  about: "Changes clients' settings so that they call this gateway. Shows each change first, and\n" +
    "tests it by running the client for one turn, if it can be run. Without a client, it\n" +
    "shows those that are installed and asks which ones.",
  options: {
    list: { type: "boolean", help: "print the clients" },
    url: { type: "string", value: "<address>", help: `the gateway; default ${DEFAULT_GATEWAY}` },
    lane: { type: "string", value: "<name>", help: "the lane; default oss" },
    model: { type: "string", value: "<name>", help: "the model; without it, connect asks" },
    "key-env": { type: "string", value: "<name>", help: "the variable that holds the key" },
    key: {
      type: "string",
      value: "-",
      help: "read the key from standard input and write it into the\nsettings",
    },
    print: { type: "boolean", help: "print the change without making it" },
    yes: { type: "boolean", help: "do not ask" },
    keep: { type: "boolean", help: "keep the change if the test fails" },
    undo: { type: "boolean", help: "undo the change" },
    json: { type: "boolean", help: "print JSON: a line for each step, and one for the result" },
  },
  examples: ["connect", "connect --list"],
  words: "client",
});

export const PROBE = command({
  name: "probe",
  group: "Set up",
  summary: "finds out what a server supports and how to configure it",
  operands: "<base URL>",
  about: "Sends a model server about forty small requests. Prints what it is, how it handles\n" +
    'what agents need, and the entry in "upstreams" to use for it, with a reason for each\nkey.',
  options: {
    model: { type: "string", value: "<name>", help: "the model to ask; default: the first that the server lists" },
    "secret-env": { type: "string", value: "<name>", help: "the variable that holds the server's secret" },
    "secret-header": {
      type: "string",
      value: "<name>",
      help: "the header for the secret; default: the usual ones are tried",
    },
    write: {
      type: "string",
      value: "<name>",
      help:
        "add the entry to the configuration, under this name,\nand a lane of this name for its models, if it has none",
    },
    ...CONFIG,
    ...JSON_OUTPUT,
  },
  examples: ["probe http://127.0.0.1:8080/v1", "probe https://host.example/v1 --secret-env TOKEN --write mine"],
});

export const USAGE = command({
  name: "usage",
  group: "Keys and usage",
  summary: "prints what keys used, from the store",
  about: "Prints requests, tokens and dollars by day, key and model, from the gateway's store:\n" +
    'newest and dearest first. It needs "usage" in the configuration.',
  options: {
    by: { type: "string", value: "key|model|day", help: "sum by one of them", words: ["key", "model", "day"] },
    csv: { type: "boolean", help: "print it as CSV" },
    ...CONFIG,
    ...JSON_OUTPUT,
  },
  examples: ["usage --by key", "usage --by day --csv"],
});

export const VALIDATE = command({
  name: "validate",
  group: "Look after it",
  summary: "checks a configuration without starting the gateway",
  operands: "[<file>]",
  about: "Checks a configuration without starting the gateway, and names the secrets that are not\nset here.",
  options: { ...CONFIG, ...LISTEN, ...JSON_OUTPUT },
  examples: ["validate", "validate team.json --json"],
  words: "file",
});

export const DOCTOR = command({
  name: "doctor",
  group: "Look after it",
  summary: "checks the configuration, its secrets, this machine, each\nupstream and each model",
  about: "Checks the configuration, its secrets, this machine, each upstream, each model with a\n" +
    "few small requests, and the clients that connect has set up. Exits with 1 if it finds\nan error. The worst comes last.",
  options: {
    lane: { type: "string", value: "<name>", help: "test only the upstreams and models of this lane" },
    model: {
      type: "string",
      value: "<name>",
      help: "test only this model; with --lane, also one that only\nits upstream lists",
    },
    quick: { type: "boolean", help: "call no model: nothing is charged" },
    part: {
      type: "string",
      multiple: true,
      value: "<name>",
      help: "check only this: configuration, machine, login,\nupstreams, models or clients (repeatable)",
      words: ["configuration", "machine", "login", "upstreams", "models", "clients"],
    },
    ...CONFIG,
    ...LISTEN,
    ...JSON_OUTPUT,
  },
  examples: ["doctor --quick", "doctor --lane oss --json"],
});

export const CHECK = command({
  name: "check",
  group: "Look after it",
  summary: "tests any gateway or server for what its clients rely on",
  operands: "<base URL> --model <name>",
  about: "Tests a gateway or a server for what clients of its wires rely on, and reports what\n" +
    "fails. The base URL is the part before /v1.",
  options: {
    model: { type: "string", value: "<name>", help: "the model to ask" },
    wire: {
      type: "string",
      multiple: true,
      value: "<name>",
      help: "chat, messages or responses (repeatable; default: all)",
      words: ["chat", "messages", "responses"],
    },
    "key-env": { type: "string", value: "<name>", help: "the variable that holds the key" },
    "key-header": {
      type: "string",
      value: "<name>",
      help: "the header for the key; default: authorization and\nx-api-key",
    },
    "upstream-port": {
      type: "string",
      value: "<port>",
      help:
        "stand behind the gateway as well: a server of the chat\nwire listens there and answers by a script, and what\n" +
        "the gateway makes of it is judged. The model has to\nlead to it",
    },
    markdown: { type: "string", value: "<file>", help: "write the report", words: "file" },
    junit: { type: "string", value: "<file>", help: "write the results for CI", words: "file" },
    ...JSON_OUTPUT,
  },
  examples: [
    "check http://127.0.0.1:8000/oss --model sandbox",
    "check https://a.example --model m --key-env TOKEN --junit r.xml",
  ],
});

export const HEALTH = command({
  name: "health",
  group: "Look after it",
  summary: "exits with 0 if the gateway, or the fetcher, is ready",
  operands: "[fetcher]",
  about: "Asks the gateway on this machine, or the fetcher, whether it is ready. Exits with 0 if\n" +
    "it is. It is for containers without a shell.",
  options: { ...CONFIG, ...LISTEN, ...JSON_OUTPUT },
  examples: ["health", "health fetcher"],
  words: ["fetcher"],
});

export const CATALOG = command({
  name: "catalog",
  group: "Deploy",
  summary: "writes the models of a lane to a file, for agents that\nread theirs from one",
  operands: "<lane> [<file>]",
  about: "Writes the models of a lane to a file, by default models-<lane>.json, for agents that\nread theirs from one.",
  options: { ...CONFIG, ...JSON_OUTPUT },
  examples: ["catalog oss", "catalog oss /etc/agent/models.json"],
});

export const PERMISSIONS = command({
  name: "permissions",
  group: "Deploy",
  summary: "prints the permissions that a configuration needs",
  about: "Prints Deno's options for the gateway, as this configuration needs them, for\n" +
    "containers and other starts without the launcher.",
  options: { ...CONFIG, ...LISTEN, ...FOR_NODE, ...JSON_OUTPUT },
  examples: ["permissions", "permissions --config team.json --port 8080"],
});

export const FETCHER = command({
  name: "fetcher",
  group: "Deploy",
  summary: "opens pages for gateways, as a service of its own",
  about: "Starts the fetcher, which opens web pages for gateways, as a service of its own, by\n" +
    '"hostedTools.webFetch" of the configuration.',
  options: { ...CONFIG, ...LISTEN },
  examples: ["fetcher", "fetcher --config fetcher.json --port 8100"],
});

export const COMPLETION = command({
  name: "completion",
  group: "Deploy",
  summary: "prints a script that completes commands in a shell",
  operands: "bash|zsh|fish",
  about: "Prints a script by which a shell completes commands, options and names.",
  options: {},
  examples: ["completion bash > laneway.bash", "completion fish | source"],
  words: ["bash", "zsh", "fish"],
});

/** In the order of the general help. */
export const commands = [
  INIT,
  CONNECT,
  PROBE,
  ...KEY_COMMANDS,
  USAGE,
  VALIDATE,
  DOCTOR,
  CHECK,
  HEALTH,
  CATALOG,
  PERMISSIONS,
  FETCHER,
  COMPLETION,
  VERIFY,
  VERSION,
] as const;

export type CommandName = typeof commands[number]["name"];
