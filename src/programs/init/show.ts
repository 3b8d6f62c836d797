/** The words for sources, problems and files. */
import { diffOf } from "../connect/change.ts";
import type { CheckedSource, Plan, PlannedFile, Source } from "./answers.ts";

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
