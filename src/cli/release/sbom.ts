/** The bills of materials: one for each file that holds the program. */
import manifest from "../../../deno.json" with { type: "json" };
import { PACKAGE } from "../../programs/version/registry.ts";
import { OF_NODE } from "../write_package.ts";
import type { Lock } from "./packages.ts";

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

/** The kinds of files that hold the program, by the ends of their names. */
interface Form {
  end: RegExp;
  type: "application" | "container";
  purl: string;
  /** Whether the runtime is inside. */
  hasDeno: boolean;
}

const VERSIONED = `${PACKAGE}@${manifest.version}`;

const FORMS: readonly Form[] = [
  { end: /\.tgz$/, type: "application", purl: `pkg:npm/${VERSIONED}`, hasDeno: false },
  { end: /\.deb$/, type: "application", purl: `pkg:deb/debian/${VERSIONED}`, hasDeno: true },
  { end: /\.tar$/, type: "container", purl: `pkg:oci/${VERSIONED}`, hasDeno: true },
  {
    end: /-(linux-gnu|apple-darwin|windows-msvc)(\.exe)?$/,
    type: "application",
    purl: `pkg:generic/${VERSIONED}`,
    hasDeno: true,
  },
];

export function holdsProgram(name: string): boolean {
  return FORMS.some(({ end }) => end.test(name));
}

/** The licences of packages as they name them, by `name@version`. */
export type Licences = ReadonlyMap<string, string>;

/** The bill of materials of a file as text. Equal files and locks give equal texts. */
export function sbomText(lock: Lock, licences: Licences, { name, digest, epoch, deno }: Artefact): string {
  const { type, purl, hasDeno } = FORMS.find(({ end }) => end.test(name))!;
  const names = Object.keys(lock.npm).toSorted();
  const own = `${purl}?file_name=${name}`;
  const direct = Object.values(manifest.imports).map((specifier) => specifier.replace(/^npm:/, ""));
  const runtime = { type: "platform", "bom-ref": `pkg:generic/deno@${deno}`, name: "deno", version: deno };
  const ofNode = Object.entries(OF_NODE).map(([name, version]) => `${name}@${version}`);
  const more = hasDeno ? [runtime["bom-ref"]] : ofNode.map(purlOf);
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
      ...hasDeno ? [{ ...runtime, purl: runtime["bom-ref"] }] : ofNode.map((pin) => componentOf(pin)),
    ],
    dependencies: [
      { ref: own, dependsOn: [...direct.map(purlOf), ...more].toSorted() },
      ...names.map((name) => ({
        ref: purlOf(name),
        dependsOn: (lock.npm[name]!.dependencies ?? []).map((one) => purlOf(pinned(one, names))),
      })),
    ],
  };
  return JSON.stringify(bill, null, 2) + "\n";
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
function pinned(name: string, pins: readonly string[]): string {
  return pins.includes(name) ? name : pins.find((pin) => split(pin)[0] === name) ?? name;
}
