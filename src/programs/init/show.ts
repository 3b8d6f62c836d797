/** The words for sources, problems and files. */
import { withoutComments } from "../../util/config_text.ts";
import { diffOf } from "../connect/change.ts";
import { invocation } from "../invocation.ts";
import type { CheckedSource, Plan, PlannedFile, Source } from "./answers.ts";
import { at } from "./standing.ts";
import type { Place } from "./work.ts";

export function showFiles(files: readonly PlannedFile[]): string {
  if (files.length === 0) return "There is nothing to change";
  return files.map(({ path, text, before = "", isSecret }) => {
    if (isSecret) return `${path}${before === "" ? " (new)" : ""}\n  the key, readable by you alone`;
    return diffOf(path, before, text);
  }).join("\n");
}

export function nameOf(source: Source): string {
  return source.kind === "provider"
    ? source.provider
    : source.kind === "server"
    ? source.baseUrl
    : `the ${source.kind}`;
}

export function failure({ reason, cure }: Extract<CheckedSource, { ok: false }>): string {
  return cure === undefined ? reason : `${reason}. ${cure}`;
}

export function problemsIn({ problems }: Extract<Plan, { ok: false }>): string {
  return problems.map(({ path, message }) => path === "" ? message : `${path}: ${message}`).join("\n");
}

/** The files that were written, and the next commands. */
export function afterwards(files: readonly string[], { path, program: { platform } }: Place): string {
  const start = invocation(platform);
  const named = path === "gateway.json" || platform.env("LANEWAY_CONFIG") ? "" : ` --config ${path}`;
  return [
    `Written: ${files.join(", ")}`,
    "",
    `Start the gateway:  ${start}${named}`,
    `Connect a client:   ${start} connect`,
    `Add another source: ${start} init${named}`,
    "A gateway that runs already needs a restart.",
  ].join("\n");
}

/** The providers' upstreams of which no lane of the planned configuration serves a model. */
export function unserved(sources: readonly Source[], files: readonly PlannedFile[]): string[] {
  const config = files.find(({ isSecret }) => !isSecret)?.text.replace(/^\ufeff/, "");
  if (config === undefined) return [];
  const lanes = JSON.stringify(at(JSON.parse(withoutComments(config)), "lanes") ?? {});
  const names = sources.flatMap((source) => source.kind === "provider" ? [source.name ?? source.provider] : []);
  return names.filter((name) => !lanes.includes(JSON.stringify(name)));
}
