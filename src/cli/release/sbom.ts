/** The bill of materials. */
import manifest from "../../../deno.json" with { type: "json" };
import type { Lock } from "./packages.ts";

/** The bill of materials as text. Equal locks give equal texts, so that builds can be compared. */
export function sbomText(lock: Lock): string {
  const names = Object.keys(lock.npm).toSorted();
  const own = `pkg:npm/${manifest.name.replace("@", "%40")}@${manifest.version}`;
  const direct = Object.values(manifest.imports).map((specifier) => specifier.replace(/^npm:/, ""));
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", "bom-ref": own, ...namesOf(manifest), purl: own } },
    components: names.map((name) => componentOf(name, lock.npm[name]!.integrity)),
    dependencies: [
      { ref: own, dependsOn: direct.map(purlOf).toSorted() },
      ...names.map((name) => ({
        ref: purlOf(name),
        dependsOn: (lock.npm[name]!.dependencies ?? []).map((one) => purlOf(pinned(one, names))),
      })),
    ],
  };
  return JSON.stringify(bill, null, 2) + "\n";
}

function componentOf(pin: string, integrity: string) {
  const [name, version] = split(pin);
  const [algorithm = "", digest = ""] = integrity.split("-");
  return {
    type: "library",
    "bom-ref": purlOf(pin),
    ...namesOf({ name, version }),
    purl: purlOf(pin),
    hashes: [{ alg: algorithm.replace("sha", "SHA-"), content: Uint8Array.fromBase64(digest).toHex() }],
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
