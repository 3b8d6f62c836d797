/** The options of the command `connect`. */
import { readArguments } from "../flags.ts";
import { UsageError } from "../program.ts";
import { isName } from "./gateway.ts";
import { DEFAULT_GATEWAY } from "./permissions.ts";

/** `first` and `second`: clients for the examples. */
export const help = (program: string, [first, second]: readonly string[]) =>
  `Usage: ${program} connect [<client> ...] [options]

Changes clients' settings so that they call this gateway. Shows each change first, and
tests it by running the client for one turn, if it can be run. Without a client, it
shows those that are installed and asks which ones.

Options:
  --list               print the clients
  --url <address>      the gateway; default ${DEFAULT_GATEWAY}
  --lane <name>        the lane; default oss
  --model <name>       the model; without it, connect asks
  --key-env <name>     the variable that holds the key
  --key -              read the key from standard input and write it into the settings
  --print              print the change without making it
  --yes                do not ask
  --keep               keep the change if the test fails
  --undo               undo the change
  --json               print JSON: a line for each step, and one for the result
  --help               show this text

Examples:
  ${program} connect
  ${program} connect ${first} ${second} --key-env LANEWAY_KEY --yes
`;

export interface Options {
  clients: string[];
  url: string;
  lane: string;
  model?: string;
  keyEnv?: string;
  readsKey: boolean;
  list: boolean;
  print: boolean;
  yes: boolean;
  keep: boolean;
  undo: boolean;
  json: boolean;
  help: boolean;
}

const OPTIONS = {
  url: { type: "string" },
  lane: { type: "string" },
  model: { type: "string" },
  "key-env": { type: "string" },
  key: { type: "string" },
  list: { type: "boolean" },
  print: { type: "boolean" },
  yes: { type: "boolean" },
  keep: { type: "boolean" },
  undo: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Throws `UsageError`. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = readArguments(args, OPTIONS);
  const { url = DEFAULT_GATEWAY, lane = "oss", key, model, "key-env": keyEnv, ...flags } = values;
  if (key !== undefined && key !== "-") {
    throw new UsageError("Everybody on the machine can see a key on the command line: use --key - and type it in");
  }
  if (key !== undefined && keyEnv !== undefined) throw new UsageError("Give --key-env or --key, not both");
  if (keyEnv !== undefined && !/^[A-Za-z_]\w*$/.test(keyEnv)) {
    throw new UsageError(`"${keyEnv}" is not a variable name`);
  }
  checkNames(lane, model);
  return {
    clients: [...new Set(positionals)],
    url: gatewayIn(url),
    lane,
    model,
    keyEnv,
    readsKey: key !== undefined,
    list: flags.list ?? false,
    print: flags.print ?? false,
    yes: flags.yes ?? false,
    keep: flags.keep ?? false,
    undo: flags.undo ?? false,
    json: flags.json ?? false,
    help: flags.help ?? false,
  };
}

function checkNames(lane: string, model: string | undefined): void {
  if (model !== undefined && !isName(model)) {
    throw new UsageError("The model's name is empty or has a line break in it");
  }
  if (!isName(lane) || /[\s/?#%\\"'$`]/.test(lane)) throw new UsageError(`"${lane}" is no name of a lane`);
}

/** The gateway's URL without the path of a lane. */
function gatewayIn(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw new UsageError(`"${text}" is not an http or https address`);
  if (url.username || url.password) throw new UsageError("The address cannot contain a name or password");
  if (url.pathname !== "/" || url.search || url.hash) {
    throw new UsageError(`Give the gateway's address without a path: ${url.origin}; --lane names the lane`);
  }
  return url.origin;
}
