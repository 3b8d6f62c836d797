/** What of a `URLPattern` is used of the pattern of a protocol, which may be one. */
export interface Pattern extends
  Readonly<
    Pick<URLPattern, "pathname" | "protocol" | "username" | "password" | "hostname" | "port" | "search" | "hash">
  > {
  exec(input: URLPatternInput): URLPatternResult | null;
  test(input: URLPatternInput): boolean;
}

/**
 * A pattern of paths, of any host: `/:lane/v1/models/:id(.+)`. The `URLPattern` for it is made when it is first asked. One takes
 * 0.25 ms, and a path of words and groups never asks it.
 */
export class PathPattern implements Pattern {
  readonly pathname: string;
  readonly protocol = "*";
  readonly username = "*";
  readonly password = "*";
  readonly hostname = "*";
  readonly port = "*";
  readonly search = "*";
  readonly hash = "*";
  #made: URLPattern | undefined;

  constructor(pathname: string) {
    this.pathname = pathname;
  }

  exec(input: URLPatternInput): URLPatternResult | null {
    return this.#pattern().exec(input);
  }

  test(input: URLPatternInput): boolean {
    return this.#pattern().test(input);
  }

  #pattern(): URLPattern {
    return this.#made ??= new URLPattern({ pathname: this.pathname });
  }
}
