/** Decides which keys may call which tools of the configured MCP servers. */
import type { RemoteWork } from "../canonical/hosted.ts";
import { createFinder, matchesAny } from "../lanes/patterns.ts";

/** Which keys may call a tool, by name or pattern (all where absent), and whether each call needs the client's approval. */
export interface ToolRule {
  keys?: readonly string[];
  approval?: boolean;
}

/** Rules by the names or patterns of tools. A tool that none of them fits must not be called. */
export type ToolRules = Readonly<Record<string, ToolRule>>;

export type Permission = "no" | "with approval" | "yes";

/** The permissions of a key for the tools of one server. */
export interface Permissions {
  /** Whether it may call any tool at all. */
  some: boolean;
  of(tool: string): Permission;
}

/** The permissions of a key at a server. */
export type PermissionsOf = (work: RemoteWork, key: string) => Permissions;

const ALL: Permissions = { some: true, of: () => "yes" };

/** `servers`: the configured ones. A server that a request names by its URL has no rules: it gets the caller's own credentials. */
export function permissionsBy(servers: Readonly<Record<string, { tools?: ToolRules }>>): PermissionsOf {
  return ({ server, url }, key) => {
    const rules = url === undefined && Object.hasOwn(servers, server) ? servers[server]!.tools : undefined;
    if (!rules) return ALL;
    const mayUse = ({ keys }: ToolRule) => !keys || matchesAny(key, keys);
    const ruleOf = createFinder(rules);
    return {
      some: Object.values(rules).some(mayUse),
      of(tool) {
        const rule = ruleOf(tool);
        if (!rule || !mayUse(rule)) return "no";
        return rule.approval ? "with approval" : "yes";
      },
    };
  };
}
