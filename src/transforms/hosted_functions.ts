// deno-lint-ignore-file house/file-length -- one subject: each hosted tool as functions
/**
 * Hosted tools for models whose servers run none. Each one is offered as functions, and what the gateway ran appears in
 * the conversation as function calls and results.
 */
import type { FunctionTool, HostedTool, Tool, ToolChoice } from "../canonical/generate.ts";
import type {
  Domains,
  HostedCall,
  HostedWork,
  RemoteTool,
  RemoteWork,
  ToolSearchCall,
  ToolSearchWork,
} from "../canonical/hosted.ts";
import { isJsonObject, type JsonObject, parseJson } from "../canonical/json.ts";
import { upstreamName } from "./tool_names.ts";

/** A function that represents a hosted tool or one of its actions. */
export interface HostedFunction {
  tool: FunctionTool;
  /** Name of the hosted tool in the request. */
  of: string;
  work: HostedWork;
  does: Exclude<HostedCall["kind"], "mcp-list">;
  /**
   * For a remote tool: its name at its server, whether the server declares it read-only, and whether the operator wants every call
   * approved.
   */
  remote?: { name: string; isReadOnly: boolean; needsApproval?: boolean };
  /** For code: the container in which it runs. */
  container?: string;
}

/**
 * The functions for those of the request's tools that the gateway runs. `listed`: the tools of each remote server, by
 * its label in the conversation. No function shares its name with one of the client's own tools.
 */
export function functionsFor(
  tools: readonly Tool[],
  listed: ReadonlyMap<string, readonly RemoteTool[]> = new Map(),
): HostedFunction[] {
  const taken = new Set(tools.flatMap((tool) => tool.type === "hosted" ? [] : [upstreamName(tool.name)]));
  const named = (name: string) => {
    let free = upstreamName(name);
    for (let count = 2; taken.has(free); count++) free = upstreamName(`${name}_${count}`);
    taken.add(free);
    return free;
  };
  return tools.filter(isRun).flatMap(({ name: of, work }): HostedFunction[] => {
    const functions = work.kind === "mcp" ? remoteFunctions(work, listed.get(work.server) ?? []) : ownFunctions(work);
    return functions.map(({ tool, ...rest }) => ({ ...rest, tool: { ...tool, name: named(tool.name) }, of, work }));
  });
}

function isRun(tool: Tool): tool is HostedTool & { work: HostedWork } {
  return tool.type === "hosted" && tool.work !== undefined;
}

type Described = Pick<HostedFunction, "tool" | "does" | "remote">;

function ownFunctions(work: Exclude<HostedWork, RemoteWork>): Described[] {
  if (work.kind === "code") return [runsCode()];
  if (work.kind === "tool-search") return [toolSearch(work)];
  const where = inWords(work.domains);
  if (work.kind === "web-fetch") {
    return [
      described(
        "web-fetch",
        "web_fetch",
        `Opens a web page that the conversation has named and returns its text.${where}`,
        {
          url: "The page's whole address",
        },
      ),
    ];
  }
  const search = described(
    "web-search",
    "web_search",
    "Searches the web and returns numbered results with their addresses. Cite a result that you use by its number in " +
      `square brackets, such as [1].${where}`,
    { query: "What to search for" },
  );
  if (!work.opensPages) return [search];
  return [
    search,
    described("web-fetch", "web_search_open_page", "Opens a page that was found and returns its text.", {
      url: "The page's whole address",
    }),
    described("find-in-page", "web_search_find_in_page", "Returns the places of a page where a text occurs.", {
      url: "The page's whole address",
      pattern: "The text to find",
    }),
  ];
}

function runsCode(): Described {
  return described(
    "code",
    "code_execution",
    "Runs Python code and returns what it prints, and the value of its last expression. It has the standard library, " +
      "no other packages and no network. Variables stay for later calls. Files that it writes to /mnt/data are given " +
      "to the user.",
    { code: "The Python code" },
  );
}

function described(
  does: Described["does"],
  name: string,
  description: string,
  texts: Record<string, string>,
): Described {
  const properties = Object.fromEntries(
    Object.entries(texts).map(([key, words]) => [key, { type: "string", description: words }]),
  );
  return {
    does,
    tool: {
      type: "function",
      name,
      description,
      parameters: { type: "object", properties, required: Object.keys(texts), additionalProperties: false },
    },
  };
}

/** The model has to know that there is more than it sees, and how to ask for it. */
function toolSearch({ method }: ToolSearchWork): Described {
  const words = method === "regex"
    ? "A regular expression for their names, descriptions or arguments, such as (?i)weather|forecast"
    : "What the tools are to be good for, in a few words";
  const described = `There are more tools than you see. Finds some of them, which can be called from then on. ` +
    "Search before you say that a tool is missing.";
  return {
    does: "tool-search",
    tool: {
      type: "function",
      name: TOOL_SEARCH,
      description: described,
      parameters: {
        type: "object",
        properties: {
          [fieldOf(method)]: { type: "string", description: words },
          limit: { type: "integer", description: "The most tools to find. Defaults to 5." },
        },
        required: [fieldOf(method)],
      },
    },
  };
}

const TOOL_SEARCH = "tool_search";

function fieldOf(method: ToolSearchWork["method"]): string {
  return method === "regex" ? "pattern" : "query";
}

/** The input of a search for tools, as the model writes it. */
export function searchInput({ method, query, limit }: ToolSearchCall): JsonObject {
  return { [fieldOf(method)]: query, ...(limit !== undefined && { limit }) };
}

function inWords({ allowed, blocked }: Domains = {}): string {
  if (allowed && allowed.length > 0) return ` Only these sites: ${allowed.join(", ")}.`;
  return blocked && blocked.length > 0 ? ` Never these sites: ${blocked.join(", ")}.` : "";
}

function remoteFunctions(work: RemoteWork, tools: readonly RemoteTool[]): Described[] {
  return tools.filter((tool) => isOffered(tool, work)).map((remote) => ({
    does: "mcp",
    remote: { name: remote.name, isReadOnly: isReadOnly(remote) },
    tool: {
      type: "function",
      name: `${work.server}_${remote.name}`,
      ...(remote.description !== undefined && { description: remote.description }),
      parameters: remote.parameters,
    },
  }));
}

function isOffered(tool: RemoteTool, { allowedTools, readOnly }: RemoteWork): boolean {
  return (!allowedTools || allowedTools.includes(tool.name)) && (!readOnly || isReadOnly(tool));
}

function isReadOnly({ annotations }: RemoteTool): boolean {
  return annotations?.readOnlyHint === true;
}

/** Whether such a call was made with this function. */
export function isCallOf({ does, work, remote }: HostedFunction, call: HostedCall): boolean {
  if (does !== call.kind) return false;
  if (call.kind === "tool-search") return work.kind === "tool-search" && work.method === call.method;
  return call.kind !== "mcp" || work.kind === "mcp" && work.server === call.server && remote?.name === call.name;
}

/** The hosted call that the model wrote; `undefined` if its input is invalid. */
export function readCall(
  { does, work, remote, container = "" }: HostedFunction,
  input: string,
): HostedCall | undefined {
  const fields = input.trim() === "" ? {} : parseJson(input);
  if (!isJsonObject(fields)) return undefined;
  if (does === "mcp") {
    if (work.kind !== "mcp" || !remote) return undefined;
    return { kind: "mcp", server: work.server, name: remote.name, input: input.trim() === "" ? "{}" : input };
  }
  const [query, url, pattern] = [
    trimmedText(fields, "query"),
    trimmedText(fields, "url"),
    trimmedText(fields, "pattern"),
  ];
  switch (does) {
    case "tool-search":
      return readSearch(work, fields);
    case "web-search":
      return query === undefined ? undefined : { kind: does, query };
    case "web-fetch":
      return url === undefined ? undefined : { kind: does, url };
    case "find-in-page":
      return url === undefined || pattern === undefined ? undefined : { kind: does, url, pattern };
    case "code": {
      const { code } = fields;
      return typeof code === "string" && code.trim() !== "" ? { kind: does, code, container } : undefined;
    }
    default:
      return does satisfies never;
  }
}

/** A search without a text is one that fails, which tells the model more than that it could not be read. */
function readSearch(work: HostedWork, fields: JsonObject): ToolSearchCall {
  const method = work.kind === "tool-search" ? work.method : "bm25";
  const { limit } = fields;
  const query = trimmedText(fields, fieldOf(method)) ?? "";
  return { kind: "tool-search", method, query, ...(typeof limit === "number" && { limit: Math.floor(limit) }) };
}

function trimmedText(fields: JsonObject, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** The call to report if its input could not be parsed. */
export function emptyCall({ does, work, remote, container = "" }: HostedFunction): HostedCall {
  switch (does) {
    case "tool-search":
      return readSearch(work, {});
    case "web-search":
      return { kind: does, query: "" };
    case "web-fetch":
      return { kind: does, url: "" };
    case "find-in-page":
      return { kind: does, url: "", pattern: "" };
    case "code":
      return { kind: does, code: "", container };
    case "mcp":
      return { kind: does, server: work.kind === "mcp" ? work.server : "", name: remote?.name ?? "", input: "{}" };
    default:
      return does satisfies never;
  }
}

/** Whether a call of a remote tool needs the client's approval. */
export function needsApproval({ work, remote }: HostedFunction): boolean {
  if (work.kind !== "mcp" || !remote) return false;
  if (remote.needsApproval) return true;
  const { approval } = work;
  if (approval === "always" || approval === "never") return approval === "always";
  const { always, never } = approval;
  const matches = (filter: typeof always) =>
    filter !== undefined &&
    (filter.names === undefined || filter.names.includes(remote.name)) &&
    (filter.readOnly === undefined || filter.readOnly === remote.isReadOnly);
  return matches(always) || !matches(never);
}

/** The tool choice in terms of functions. A forced hosted tool becomes its first function. */
export function functionChoice(
  choice: ToolChoice | undefined,
  functions: readonly HostedFunction[],
): ToolChoice | undefined {
  const namesOf = (name: string) => functions.filter(({ of }) => of === name).map(({ tool }) => tool.name);
  if (choice?.type === "tool" && choice.remote) {
    const { server, name } = choice.remote;
    const names = functions.filter(({ work, remote }) =>
      work.kind === "mcp" && work.server === server && (name === undefined || remote?.name === name)
    ).map(({ tool }) => tool.name);
    const [only] = names;
    if (only === undefined) return choice;
    return names.length === 1
      ? { type: "tool", kind: "function", name: only }
      : { type: "allowed", mode: "required", names };
  }
  if (choice?.type === "tool") {
    const [name] = namesOf(choice.name);
    return name === undefined ? choice : { type: "tool", kind: "function", name };
  }
  if (choice?.type !== "allowed") return choice;
  const names = choice.names.flatMap((name) => {
    const functions = namesOf(name);
    return functions.length > 0 ? functions : [name];
  });
  return { ...choice, names };
}
