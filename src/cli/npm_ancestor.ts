/** The npm that started the gateway, where one did: `npx deno task start`. It imports nothing, as the launcher that it is for. */

/**
 * Ends with 0 once a link between this process's parent and the npm above it is broken, and otherwise if there is no npm. Parents
 * tell, because they change even where nobody reaps who has ended. A shell looks, because Deno opens `/proc` to nobody who may
 * not do everything. It asks for names last: they can take long to come, and npm may end meanwhile.
 */
const WATCH = `
parent() {
  if [ -r "/proc/$1/stat" ]; then
    read -r line < "/proc/$1/stat"
    set -- \${line##*) }
    echo "$2"
  else
    echo $(ps -o ppid= -p "$1")
  fi
}
name() {
  if [ -r "/proc/$1/cmdline" ]; then tr '\\0' ' ' < "/proc/$1/cmdline"; else ps -o command= -p "$1"; fi
}
whole() {
  for link in $1; do
    [ "$(parent "\${link%:*}")" = "\${link#*:}" ] || return 1
  done
}
at=$$
links=
while up=$(parent "$at") && [ "\${up:-0}" -gt 0 ]; do
  links="$links $at:$up"
  at=$up
done
below=
for link in $links; do
  below="$below $link"
  case "$(name "\${link#*:}") " in
    npm\\ *|npx\\ *|*/npm\\ *|*/npx\\ *|*/npm-cli.js\\ *|*/npx-cli.js\\ *)
      while whole "$below"; do sleep 1; done
      exit 0
  esac
done
! whole "$links"
`;

/**
 * Resolves to true within a second after the npm that started this process has ended, or anything between the two; to false
 * where none did. npm passes a signal on to its shell alone, which ends and leaves all below it running.
 */
export async function npmEnded(): Promise<boolean> {
  // npm says so to whatever it starts.
  if (Deno.build.os === "windows" || !Deno.env.get("npm_command")) return false;
  try {
    const watching = new Deno.Command("sh", { args: ["-c", WATCH], stdin: "null", stdout: "null", stderr: "null" });
    return (await watching.spawn().status).code === 0;
  } catch {
    return false; // A machine without a shell has no npm that would run one.
  }
}
