/**
 * Claim: a thread with narrowed permissions (Deno 2.9) shares variables and the working directory with the thread that started it. A
 * gateway in one could choose the home, and with it the packages, of every program that its launcher starts later.
 * `deno run --allow-all` prints what the launcher and such a program see after a thread has tried.
 */
const folder = await Deno.makeTempDir();
await Deno.writeTextFile(
  `${folder}/thread.ts`,
  `Deno.env.set("HOME", "/changed");
  Deno.chdir("${folder}");
  let ran = "yes";
  try {
    new Deno.Command("true").outputSync();
  } catch {
    ran = "no";
  }
  postMessage(ran);\n`,
);
await Deno.writeTextFile(
  `${folder}/main.ts`,
  `const permissions = { env: ["HOME"], read: [import.meta.dirname], run: false, write: false, net: false };
  const thread = new Worker(import.meta.resolve("./thread.ts"), { type: "module", deno: { permissions } });
  thread.onmessage = ({ data }) => {
    console.log("the thread ran a program itself:", data);
    console.log("the launcher is in the thread's folder:", Deno.cwd() === Deno.realPathSync(import.meta.dirname));
    new Deno.Command("sh", { args: ["-c", "echo a program of the launcher has HOME=$HOME"] }).spawn().status
      .then(() => Deno.exit(0));
  };\n`,
);
const args = ["run", "--allow-all", "--no-config", "--unstable-worker-options", `${folder}/main.ts`];
await new Deno.Command(Deno.execPath(), { args, cwd: Deno.cwd() }).spawn().status;
await Deno.remove(folder, { recursive: true });
