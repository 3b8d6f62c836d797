/** The parts of `URLPattern` that protocols need. A protocol's pattern may also be a `URLPattern` itself. */
export interface Pattern extends
  Readonly<
    Pick<URLPattern, "pathname" | "protocol" | "username" | "password" | "hostname" | "port" | "search" | "hash">
  > {
  exec(input: URLPatternInput): URLPatternResult | null;
  test(input: URLPatternInput): boolean;
}

/**
 * A path pattern for any host: `/:lane/v1/models/:id(.+)`. Its `URLPattern` is created on first use, because that costs
 * 0.25 ms. A path of words and groups never needs one.
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
