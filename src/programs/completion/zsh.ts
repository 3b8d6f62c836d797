import { type Completed, type Described, named, valued } from "./completed.ts";

/** A script for zsh, to be sourced or to be put into a folder of `fpath` as `_laneway`. */
export function zsh(all: readonly Completed[]): string {
  const values = all.flatMap(({ name, options }) =>
    options.filter(({ takesValue }) => takesValue).map((option) => {
      const offer = option.takesFiles ? "_files" : `compadd -- ${option.names.join(" ")}`;
      return `    ${quoted(`${name}/${option.name}`)}) ${offer}; return ;;`;
    })
  );
  const words = all.map(({ name, commands, names, options, takesFiles }) => {
    const offered = [...commands, ...names.map((name) => ({ name, help: "" }))];
    return `    ${quoted(name)})
      options=(${options.map(described).join(" ")})
      list=(${offered.map(described).join(" ")})
      files=${takesFiles ? 1 : ""} ;;`;
  });
  return `#compdef laneway
# Completes the commands of laneway in zsh. Load it with: source <(laneway completion zsh)
_laneway() {
  local command="" files="" i
  local -a options list
  for ((i = 2; i < CURRENT; i++)); do
    case "\${words[i]}" in
      ${valued(all).join("|")}) i=$((i + 1)) ;;
      -*) ;;
      *)
        case "\${command:+$command }\${words[i]}" in
          ${named(all).map(quoted).join("|")}) command="\${command:+$command }\${words[i]}" ;;
        esac ;;
    esac
  done
  case "$command/\${words[CURRENT - 1]}" in
${values.join("\n")}
  esac
  case "$command" in
${words.join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe option options
  else
    [[ -n "$files" ]] && _files
    (( $#list )) && _describe command list
  fi
}
if [ "\${funcstack[1]}" = "_laneway" ]; then _laneway; else compdef _laneway laneway; fi`;
}

function described({ name, help }: Described): string {
  return quoted(help === "" ? name : `${name.replaceAll(":", "\\:")}:${help}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
