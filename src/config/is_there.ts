import { builtin } from "../util/builtin.ts";

/** Whether there is a file at a path. A path that must not be read counts as there: it was when the permissions were given. */
export function isThere(path: string): boolean {
  try {
    builtin("node:fs").lstatSync(path);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== "ENOENT";
  }
}
