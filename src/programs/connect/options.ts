/** The options of the command `connect`. */
import { DEFAULT_GATEWAY } from "../commands/command.ts";
import { CONNECT } from "../commands/mod.ts";
import { readArguments } from "../flags.ts";
import { UsageError } from "../program.ts";
import { isName } from "./gateway.ts";

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
}

/** Throws `UsageError`. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = readArguments(args, CONNECT.options);
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
