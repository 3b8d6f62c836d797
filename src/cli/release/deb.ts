/** The package for Debian and Ubuntu: the program with Deno, a service with a user of its own, and the command `laneway`. */
import { createHash } from "node:crypto";
import manifest from "../../../deno.json" with { type: "json" };
import { ROOT } from "../compile.ts";
import { DESCRIPTION } from "./description.ts";
import { type Kind, make, type Release } from "./kind.ts";
import { type Architecture, ARCHITECTURES, denoFor } from "./runtime.ts";
import { readSource } from "./source.ts";
import { bytesOf, type Entry, file, folderEntries, gzipped, tar, withFolders } from "./tar.ts";

export const deb: Kind = {
  name: "deb",
  needs: "npm for Deno",
  build: async (release) => {
    const made = [];
    for (const architecture of ARCHITECTURES) {
      made.push(await make(`the package for Debian on ${architecture}`, () => buildDeb(release, architecture)));
    }
    return made;
  },
};

/** Writes `laneway_<version>_<architecture>.deb` and returns its name. */
export async function buildDeb(
  { folder, program }: Pick<Release, "folder" | "program">,
  architecture: Architecture,
  version = manifest.version,
): Promise<string> {
  const { epoch } = await readSource();
  const files = contentOf(await program(), await denoFor(architecture));
  const name = `laneway_${version}_${architecture}.deb`;
  const members = [
    member("debian-binary", new TextEncoder().encode("2.0\n"), epoch),
    member("control.tar.gz", await archive(controlOf(files, version, architecture), epoch), epoch),
    member("data.tar.gz", await archive(files, epoch), epoch),
  ];
  await Deno.writeFile(`${folder}/${name}`, await bytesOf(new Blob(["!<arch>\n", ...members.flat()]).stream()));
  return name;
}

async function archive(entries: readonly Entry[], epoch: number): Promise<Uint8Array<ArrayBuffer>> {
  const rooted = entries.map((entry) => ({ ...entry, path: `./${entry.path}` }));
  return await bytesOf(gzipped(tar(withFolders(rooted), epoch)));
}

/** A member of an archive in the format of `ar`, in which each begins at an even place. */
function member(name: string, data: Uint8Array<ArrayBuffer>, epoch: number): BlobPart[] {
  const fields = [[name, 16], [epoch, 12], [0, 6], [0, 6], ["100644", 8], [data.length, 10]] as const;
  const head = fields.map(([value, length]) => String(value).padEnd(length)).join("");
  return [`${head}\`\n`, data, new Uint8Array(data.length % 2).fill(10)];
}

const LIBRARY = "usr/lib/laneway";

function contentOf(program: string, deno: Uint8Array<ArrayBuffer>): Entry[] {
  const copyright = `${Deno.readTextFileSync(`${program}/LICENSE`)}\n${
    Deno.readTextFileSync(`${program}/LICENSES.txt`)
  }`;
  return [
    file("etc/laneway/gateway.json", deployed("debian/gateway.json")),
    { path: "etc/laneway/secrets", mode: 0o700 },
    file("usr/bin/laneway", deployed("debian/laneway"), 0o755),
    file(`${LIBRARY}/deno`, deno, 0o755),
    file(`${LIBRARY}/serve`, deployed("debian/serve"), 0o755),
    ...folderEntries(`${LIBRARY}/program`, program),
    file("usr/lib/systemd/system/laneway.service", debianUnit()),
    file("usr/lib/sysusers.d/laneway.conf", deployed("debian/laneway.sysusers")),
    file("usr/share/doc/laneway/copyright", copyright),
  ];
}

/** The unit of the repository, with the package's program and user. */
export function debianUnit(): string {
  const changes = [
    [/^# Runs the executable .*\n#\n#.*\n/, "# Runs Laneway, with as few rights as it needs.\n#\n"],
    ["exec /usr/local/bin/laneway ", `exec /${LIBRARY}/serve `],
    ["DynamicUser=yes", "User=laneway\nCacheDirectory=laneway\nCacheDirectoryMode=0700"],
    ["Environment=NO_COLOR=1", "Environment=NO_COLOR=1 DENO_DIR=/var/cache/laneway LANEWAY_COMMAND=laneway"],
  ] as const;
  let unit = new TextDecoder().decode(deployed("systemd/laneway.service"));
  for (const [from, to] of changes) {
    const changed = unit.replace(from, to);
    if (changed === unit) throw new Error(`deploy/systemd/laneway.service lacks ${from}`);
    unit = changed;
  }
  return unit;
}

function controlOf(files: readonly Entry[], version: string, architecture: Architecture): Entry[] {
  const bytes = files.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
  const fields = {
    Package: "laneway",
    Version: version,
    Architecture: architecture,
    Maintainer: "The maintainers of Laneway <maintainers@laneway.invalid>",
    "Installed-Size": Math.ceil(bytes / 1024),
    Depends: "libc6 (>= 2.27), libgcc-s1, passwd, systemd | systemd-standalone-sysusers",
    Section: "net",
    Priority: "optional",
    Description: DESCRIPTION,
  };
  const control = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`).join("");
  const sums = files.filter(({ data }) => data).map(({ path, data }) =>
    `${createHash("md5").update(data!).digest("hex")}  ${path}\n`
  );
  return [
    file("control", control),
    file("conffiles", "/etc/laneway/gateway.json\n"),
    file("md5sums", sums.filter((line) => !line.includes("  etc/")).join("")),
    ...["postinst", "prerm", "postrm"].map((name) => file(name, deployed(`debian/${name}`), 0o755)),
  ];
}

function deployed(path: string): Uint8Array<ArrayBuffer> {
  return Deno.readFileSync(new URL(`deploy/${path}`, ROOT));
}
