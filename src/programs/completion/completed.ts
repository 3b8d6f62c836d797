/** A command as shells complete it. */
export interface Completed extends Values {
  /** `keys create`. Empty for the gateway itself. */
  name: string;
  /** The words that may come next. */
  commands: Described[];
  options: (Described & Values & { takesValue: boolean })[];
}

export interface Described {
  name: string;
  help: string;
}

interface Values {
  names: string[];
  takesFiles: boolean;
}

/** The names of all options that take a value: the word after them is no command. */
export function valued(all: readonly Completed[]): string[] {
  const options = all.flatMap(({ options }) => options);
  return [...new Set(options.filter(({ takesValue }) => takesValue).map(({ name }) => name))].sort();
}

/** The names of all commands. */
export function named(all: readonly Completed[]): string[] {
  return all.map(({ name }) => name).filter((name) => name !== "");
}
