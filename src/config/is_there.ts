import { builtin } from "../util/builtin.ts";

/** Whether there is something at a path. What may not be looked at was there when the permissions were given. */
export function isThere(path: string): boolean {
  try {
    builtin("node:fs").lstatSync(path);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== "ENOENT";
  }
}
