/** Watches the npm that started the gateway: `npx deno task -q laneway`. It is for the launcher, so it imports nothing. */
import { command, host } from "../platform/host.ts";

/**
 * Exits with 0 once a link between this process's parent and the npm above it is broken, and with another code if there is no npm.
 * It compares parents, because they change even if no process reaps the ended one. A shell does it, because Deno opens `/proc` only
 * with all permissions. Names are read last: that can take long, and npm may end meanwhile.
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
 * Resolves to true within a second after the end of the npm that started this process, or of any process between the two. Resolves
 * to false if there is no npm. npm passes a signal on only to its shell, which ends and leaves everything below it running.
 */
export async function npmEnded(): Promise<boolean> {
  // npm sets this variable for everything that it starts.
  if (host().build.os === "windows" || !host().env.get("npm_command")) return false;
  try {
    const watching = command("sh", { args: ["-c", WATCH], stdin: "null", stdout: "null", stderr: "null" });
    return (await watching.spawn().status).code === 0;
  } catch {
    return false; // npm runs its scripts by a shell, so without a shell there is no npm
  }
}
