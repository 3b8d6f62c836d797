import { lstatSync } from "node:fs";

/** Whether there is something at a path. What may not be looked at was there when the permissions were given. */
export function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== "ENOENT";
  }
}
