/** The registry that has the releases of Laneway. The launcher loads this file, too, so it imports nothing. */

/** The name of the package on npm's registry, and of its command. */
export const PACKAGE = "laneway";

const DEFAULT_REGISTRY = "https://registry.npmjs.org";

/** The variables by which npm and npx pass on the registry that the user has set. */
export const REGISTRY_VARIABLES = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];

/** The URL of the registry: the named one, or npm's setting, or npm's default. Absent if it is no URL of a registry. */
export function registryUrl(named: string | undefined, env: (name: string) => string | undefined): URL | undefined {
  const set = REGISTRY_VARIABLES.map((name) => env(name)).find((value) => value);
  const url = URL.parse((named ?? set ?? DEFAULT_REGISTRY).replace(/\/*$/, "/"));
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    return undefined;
  }
  return url;
}
