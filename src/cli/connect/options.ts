/** The options of the command `connect`. */
import { readArguments } from "../flags.ts";
import { UsageError } from "../program.ts";
import { isName } from "./gateway.ts";
import { DEFAULT_GATEWAY } from "./permissions.ts";

export const help = (program: string) =>
  `Usage: ${program} connect [<client>] [options]

Writes into a client's settings that it is to call this gateway, shows the change first,
and proves it with a turn of the client itself where it can be run. Without a client,
finds those that are installed and asks.

  --list               print the clients
  --url <address>      the gateway; default ${DEFAULT_GATEWAY}
  --lane <name>        the lane; default oss
  --model <name>       the model; asked for where it is not given
  --key-env <name>     the variable that holds the key
  --key -              read the key from standard input; it is written as it is
  --print              print the change, and change nothing
  --yes                do not ask
  --keep               leave the change where the proof fails
  --undo               take the change back, and nothing else
`;

export interface Options {
  client?: string;
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
  help: { type: "boolean" },
} as const;

/** Throws `UsageError`. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = readArguments(args, OPTIONS);
  if (positionals.length > 1) throw new UsageError(`Cannot connect "${positionals.join(" ")}": name one client`);
  const { url = DEFAULT_GATEWAY, lane = "oss", key, model, "key-env": keyEnv, ...flags } = values;
  if (key !== undefined && key !== "-") {
    throw new UsageError("A key on the command line is seen by everybody on the machine: give --key - and type it in");
  }
  if (key !== undefined && keyEnv !== undefined) throw new UsageError("Give --key-env or --key, not both");
  if (keyEnv !== undefined && !/^[A-Za-z_]\w*$/.test(keyEnv)) {
    throw new UsageError(`"${keyEnv}" is no name of a variable`);
  }
  checkNames(lane, model);
  return {
    client: positionals[0],
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
    help: flags.help ?? false,
  };
}

function checkNames(lane: string, model: string | undefined): void {
  if (model !== undefined && !isName(model)) {
    throw new UsageError("The model's name is empty or has a line break in it");
  }
  if (!isName(lane) || /[\s/?#%\\"'$`]/.test(lane)) throw new UsageError(`"${lane}" is no name of a lane`);
}

/** Without what belongs to a lane. */
function gatewayIn(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw new UsageError(`"${text}" is no http or https address`);
  if (url.username || url.password) throw new UsageError("An address has no name and no password in it");
  if (url.pathname !== "/" || url.search || url.hash) {
    throw new UsageError(`Give the gateway's address without a path: ${url.origin}; --lane names the lane`);
  }
  return url.origin;
}
