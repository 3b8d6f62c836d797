/** The bills of materials: one for each file that holds the program. */
import manifest from "../../../deno.json" with { type: "json" };
import { PACKAGE } from "../../programs/version/registry.ts";
import { OF_NODE } from "../write_package.ts";
import type { Lock } from "./packages.ts";
import pinned from "./runtime.json" with { type: "json" };
import { type Architecture, ARCHITECTURES } from "./runtime.ts";

/** A file that holds the program. */
export interface Artefact {
  name: string;
  /** The SHA-256 digest. */
  digest: string;
  /** Seconds since the epoch. */
  epoch: number;
  /** The version of Deno that makes it. */
  deno: string;
}

/** A kind of files that hold the program. */
interface Form {
  /** The end of their names. */
  end: RegExp;
  type: "application" | "container";
  purl: string;
  /** The runtime inside: the Deno that makes the release, or the one that is pinned, with Debian's libraries or not. */
  runtime?: "own" | "pinned" | "pinned with libraries";
  hasFetcher?: true;
}

const VERSIONED = `${PACKAGE}@${manifest.version}`;

const FORMS: readonly Form[] = [
  { end: /\.tgz$/, type: "application", purl: `pkg:npm/${VERSIONED}` },
  { end: /\.deb$/, type: "application", purl: `pkg:deb/debian/${VERSIONED}`, runtime: "pinned", hasFetcher: true },
  {
    end: /\.tar$/,
    type: "container",
    purl: `pkg:oci/${VERSIONED}`,
    runtime: "pinned with libraries",
    hasFetcher: true,
  },
  {
    end: /-(linux-gnu|apple-darwin|windows-msvc)(\.exe)?$/,
    type: "application",
    purl: `pkg:generic/${VERSIONED}`,
    runtime: "own",
  },
];

/** The form of a file that holds the program. */
export function formOf(name: string): Form {
  return FORMS.find(({ end }) => end.test(name))!;
}

export function holdsProgram(name: string): boolean {
  return FORMS.some(({ end }) => end.test(name));
}

/** The licences of packages as they name them, by `name@version`. */
export type Licences = ReadonlyMap<string, string>;

/** The bill of materials of a file as text. Equal files and locks give equal texts. */
export function sbomText(lock: Lock, licences: Licences, { name, digest, epoch, deno }: Artefact): string {
  const { type, purl, runtime } = formOf(name);
  const names = Object.keys(lock.npm).toSorted();
  const own = `${purl}?file_name=${name}`;
  const imports = [...Object.values(manifest.imports), ...lock.fetcher ?? []];
  const direct = imports.map((specifier) => specifier.replace(/^npm:/, ""));
  const ofNode = Object.entries(OF_NODE).map(([name, version]) => componentOf(`${name}@${version}`));
  const more = runtime ? runtimeComponents(runtime, deno) : ofNode;
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidBy(digest)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: {
        type,
        "bom-ref": own,
        name: PACKAGE,
        version: manifest.version,
        hashes: [{ alg: "SHA-256", content: digest }],
        licenses: [{ expression: "MIT" }],
        purl: own,
      },
    },
    components: [
      ...names.map((name) => componentOf(name, lock.npm[name]!.integrity, licences.get(name))),
      ...more,
    ],
    dependencies: [
      { ref: own, dependsOn: [...direct.map(purlOf), ...more.map(({ purl }) => purl)].toSorted() },
      ...names.map((name) => ({
        ref: purlOf(name),
        dependsOn: (lock.npm[name]!.dependencies ?? []).map((one) => purlOf(pinOf(one, names))),
      })),
    ],
  };
  return JSON.stringify(bill, null, 2) + "\n";
}

function runtimeComponents(runtime: NonNullable<Form["runtime"]>, deno: string) {
  const version = runtime === "own" ? deno : pinned.deno;
  const purl = `pkg:generic/deno@${version}`;
  const libraries = runtime === "pinned with libraries" ? ARCHITECTURES.flatMap(librariesOf) : [];
  return [{ type: "platform", "bom-ref": purl, name: "deno", version, purl }, ...libraries];
}

/** Debian's packages by the names of their files: `libc6_2.41-12%2bdeb13u5_amd64.deb`. */
function librariesOf(architecture: Architecture) {
  return Object.keys(pinned[architecture].libraries).map((path) => {
    const [name = "", version = ""] = decodeURIComponent(path.slice(path.lastIndexOf("/") + 1)).split("_");
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    return { type: "library", "bom-ref": purl, name, version, purl };
  });
}

/** A UUID of the version for such uses, made of the first digits of a digest. */
function uuidBy(digest: string): string {
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `a${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ]
    .join("-");
}

function componentOf(pin: string, integrity?: string, licence?: string) {
  const [name, version] = split(pin);
  const [algorithm = "", digest = ""] = integrity?.split("-") ?? [];
  return {
    type: "library",
    "bom-ref": purlOf(pin),
    ...namesOf({ name, version }),
    ...(digest && {
      hashes: [{ alg: algorithm.replace("sha", "SHA-"), content: Uint8Array.fromBase64(digest).toHex() }],
    }),
    ...(licence && { licenses: [{ expression: licence }] }),
    purl: purlOf(pin),
  };
}

/** CycloneDX keeps the scope of a package apart from its name. */
function namesOf({ name, version }: { name: string; version: string }) {
  const [group, bare] = name.startsWith("@") ? name.split("/") : [];
  return bare === undefined ? { name, version } : { group, name: bare, version };
}

function split(pin: string): [name: string, version: string] {
  // The version is followed by the peers that the package is used with.
  const [, name = "", version = ""] = /^(.[^@]*)@([^_]*)/.exec(pin) ?? [];
  return [name, version];
}

function purlOf(pin: string): string {
  const [name, version] = split(pin);
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** The lock names the version of a dependency only if there are several. */
function pinOf(name: string, pins: readonly string[]): string {
  return pins.includes(name) ? name : pins.find((pin) => split(pin)[0] === name) ?? name;
}
