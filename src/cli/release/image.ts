/**
 * The image for containers, in an archive with OCI's layout: for two architectures, without a shell, with a layer for Deno and one
 * for the program.
 */
import manifest from "../../../deno.json" with { type: "json" };
import { ROOT } from "../compile.ts";
import { type Kind, make, type Release } from "./kind.ts";
import { type Architecture, ARCHITECTURES, denoFor, librariesFor } from "./runtime.ts";
import { readSource } from "./source.ts";
import { bytesOf, type Entry, file, folderEntries, gzipped, tar, withFolders } from "./tar.ts";

/** The user in the container, and its group. */
const USER = 65532;
const STATE = "var/lib/laneway";

export const image: Kind = {
  name: "image",
  needs: "npm for Deno, and the tools of Debian or Ubuntu (apt, dpkg) for Debian's libraries",
  build: async (release) => [await make("the image", () => buildImage(release))],
};

/** Writes `laneway-<version>-image.tar`. */
async function buildImage({ folder, program }: Release): Promise<string> {
  const { epoch } = await readSource();
  const layout = new Layout();
  const code = await layerOf(programEntries(await program()), epoch, layout);
  const manifests = [];
  for (const architecture of ARCHITECTURES) {
    const layers = [await layerOf(await runtimeEntries(architecture), epoch, layout), code];
    const config = await layout.add("image.config", json(configOf(architecture, layers, epoch)));
    const descriptors = layers.map(({ descriptor }) => descriptor);
    const one = { schemaVersion: 2, mediaType: typeOf("image.manifest"), config, layers: descriptors };
    manifests.push({ ...await layout.add("image.manifest", json(one)), platform: { architecture, os: "linux" } });
  }
  const index = await layout.add("image.index", json({ ...INDEX, manifests }));
  const annotations = { "org.opencontainers.image.ref.name": manifest.version, "io.containerd.image.name": NAME };
  const name = `laneway-${manifest.version}-image.tar`;
  const entries = layout.entries({ ...INDEX, manifests: [{ ...index, annotations }] });
  const file = await Deno.open(`${folder}/${name}`, { write: true, create: true, truncate: true });
  await tar(entries, epoch).pipeTo(file.writable);
  return name;
}

const NAME = `docker.io/library/laneway:${manifest.version}`;
const INDEX = { schemaVersion: 2, mediaType: typeOf("image.index") };

function typeOf(kind: string): string {
  return `application/vnd.oci.${kind}.v1${kind.startsWith("image.layer") ? ".tar+gzip" : "+json"}`;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

/** The content of the archive: blobs, each named by its digest. */
class Layout {
  readonly #blobs = new Map<string, Uint8Array<ArrayBuffer>>();

  async add(kind: string, blob: Uint8Array<ArrayBuffer>): Promise<Descriptor> {
    const digest = await digestOf(blob);
    this.#blobs.set(digest, blob);
    return { mediaType: typeOf(kind), digest, size: blob.length };
  }

  entries(index: object): Entry[] {
    const blobs = [...this.#blobs].map(([digest, data]) => file(`blobs/${digest.replace(":", "/")}`, data));
    return withFolders([
      file("oci-layout", json({ imageLayoutVersion: "1.0.0" })),
      file("index.json", json(index)),
      ...blobs.toSorted((one, other) => one.path < other.path ? -1 : 1),
    ]);
  }
}

interface Layer {
  /** The digest of the layer before it was compressed. */
  diffId: string;
  descriptor: Descriptor;
}

async function layerOf(entries: readonly Entry[], epoch: number, layout: Layout): Promise<Layer> {
  const plain = await bytesOf(tar(withFolders(entries), epoch));
  const packed = await bytesOf(gzipped(new Blob([plain]).stream()));
  return { diffId: await digestOf(plain), descriptor: await layout.add("image.layer", packed) };
}

/** Deno, its libraries at Debian's places, and names that files and DNS resolve in that order. */
async function runtimeEntries(architecture: Architecture): Promise<Entry[]> {
  return [
    file("bin/deno", await denoFor(architecture), 0o755),
    file("etc/nsswitch.conf", "hosts: files dns\n"),
    file("etc/passwd", `laneway:x:${USER}:${USER}::/${STATE}:/\n`),
    file("etc/group", `laneway:x:${USER}:\n`),
    { path: "lib", mode: 0o777, link: "usr/lib" },
    { path: "lib64", mode: 0o777, link: "usr/lib64" },
    { path: "tmp", mode: 0o1777 },
    ...await librariesFor(architecture),
  ];
}

/** The program, its configuration, and its store. A new volume belongs to whom the folder belongs to. */
function programEntries(program: string): Entry[] {
  return [
    ...folderEntries("app", program),
    file("etc/laneway/gateway.json", Deno.readFileSync(new URL("deploy/container/gateway.json", ROOT))),
    { path: "var", mode: 0o755 },
    { path: "var/lib", mode: 0o755 },
    { path: STATE, mode: 0o700, owner: USER },
  ];
}

const COMMAND = ["/bin/deno", "run", "--allow-read", "--allow-env", "--allow-run", "--no-prompt", "/app/launch.js"];
const SECOND_NS = 1e9;

function configOf(architecture: Architecture, layers: readonly Layer[], epoch: number) {
  const created = new Date(epoch * 1000).toISOString().replace(".000", "");
  return {
    created,
    architecture,
    os: "linux",
    config: {
      User: `${USER}:${USER}`,
      ExposedPorts: { "8000/tcp": {} },
      Env: [
        "DENO_DIR=/tmp/deno",
        "DENO_NO_UPDATE_CHECK=1",
        `HOME=/${STATE}`,
        "LANEWAY_CONFIG=/etc/laneway/gateway.json",
        "LANEWAY_COMMAND=laneway",
        "NO_COLOR=1",
        "PATH=/bin",
        "XDG_DATA_HOME=/var/lib",
      ],
      Entrypoint: COMMAND,
      WorkingDir: "/app",
      Volumes: { [`/${STATE}`]: {} },
      StopSignal: "SIGTERM",
      // Docker reads this one, which OCI's own format does not have.
      Healthcheck: {
        Test: ["CMD", ...COMMAND, "health"],
        Interval: 30 * SECOND_NS,
        Timeout: 6 * SECOND_NS,
        StartPeriod: 10 * SECOND_NS,
      },
      Labels: {
        "org.opencontainers.image.title": "Laneway",
        "org.opencontainers.image.version": manifest.version,
        "org.opencontainers.image.licenses": "MIT",
        "org.opencontainers.image.created": created,
      },
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: ["Deno and its libraries", "Laneway"].map((comment) => ({
      created,
      created_by: "deno task release",
      comment,
    })),
  };
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha256:${new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex()}`;
}

function json(value: object): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
