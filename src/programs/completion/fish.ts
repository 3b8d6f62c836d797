import { type Completed, named, valued } from "./completed.ts";

/** A script for fish 3 or later. */
export function fish(all: readonly Completed[]): string {
  return [
    `# Completes the commands of laneway in fish. Load it with: laneway completion fish | source
function __laneway_command
    set -l found
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case ${valued(all).join(" ")}
                set -e words[1]
            case '-*'
            case '*'
                if contains -- (string join ' ' $found $words[1]) ${named(all).map(quoted).join(" ")}
                    set -a found $words[1]
                end
        end
        set -q words[1]; and set -e words[1]
    end
    string join ' ' $found
end
function __laneway_is
    set -l found (__laneway_command)
    test "$found" = "$argv[1]"
end
complete -c laneway -f`,
    ...all.flatMap(linesOf),
  ].join("\n");
}

function linesOf({ name, commands, names, takesFiles, options }: Completed): string[] {
  const at = `complete -c laneway -n ${quoted(`__laneway_is ${quoted(name)}`)}`;
  return [
    ...commands.map(({ name, help }) => `${at} -a ${name} -d ${quoted(help)}`),
    ...names.length > 0 ? [`${at} -a ${quoted(names.join(" "))}`] : [],
    ...takesFiles ? [`${at} -F`] : [],
    ...options.map(({ name, help, takesValue, names, takesFiles }) => {
      const value = !takesValue ? "" : takesFiles ? " -r -F" : ` -x -a ${quoted(names.join(" "))}`;
      return `${at} -l ${name.slice(2)}${value} -d ${quoted(help)}`;
    }),
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
