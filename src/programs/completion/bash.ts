import { type Completed, named, valued } from "./completed.ts";

/** A script for bash 3.2 or later. Where it offers nothing, bash completes the names of files. */
export function bash(all: readonly Completed[]): string {
  const values = all.flatMap(({ name, options }) =>
    options.filter(({ takesValue }) => takesValue)
      .map((option) => `    ${quoted(`${name}/${option.name}`)}) words=${quoted(option.names.join(" "))} ;;`)
  );
  const words = all.map(({ name, commands, names, options }) => {
    const named = [...commands.map(({ name }) => name), ...names].join(" ");
    const flags = options.map(({ name }) => name).join(" ");
    return `        ${quoted(name)}) words=${quoted(named)}; options=${quoted(flags)} ;;`;
  });
  return `# Completes the commands of laneway in bash. Load it with: source <(laneway completion bash)
_laneway() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" command="" words="" options="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued(all).join("|")}) i=$((i + 1)) ;;
      -*) ;;
      *)
        case "\${command:+$command }\${COMP_WORDS[i]}" in
          ${named(all).map(quoted).join("|")}) command="\${command:+$command }\${COMP_WORDS[i]}" ;;
        esac ;;
    esac
  done
  case "$command/$previous" in
${values.join("\n")}
    *)
      case "$command" in
${words.join("\n")}
      esac
      case "$current" in -*) words="$options" ;; esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _laneway laneway`;
}

/** In double quotes. The names have no character that means something there. */
function quoted(text: string): string {
  return `"${text}"`;
}
