// @ts-check
/// <reference lib="dom" />
/** The files that keys have uploaded, how much of its bound each key takes, and a list from which a file is deleted. */
import { html, useEffect, useState } from "./ui.js";
import { attempt } from "./actions.js";
import { Dialog, toast } from "./design/overlays.js";
import { Button, Card, EmptyState } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, count, order } from "./dom.js";
import { ago, exactly, inBytes, inPercent } from "./words.js";

/**
 * @typedef {{ owner: string, bytes: number, files?: number }} Holding
 * @typedef {{ owners: Holding[], more?: number, bytes?: number, isOff?: boolean,
 *   bounds?: { bytesPerKey: number, filesPerKey: number, totalBytes: number } }} Held
 * @typedef {{ id: string, name: string, mediaType: string, bytes: number, created: string, expires?: string,
 *   purpose?: string }} File
 */

/** The owner in words. @param {string} owner */
function nameOf(owner) {
  const [, kind = "", name = ""] = /^([^:]*):?(.*)$/s.exec(owner) ?? [];
  if (kind === "key") return name;
  if (kind === "local") return "this machine, without a key";
  return kind === "oidc" ? `signed in by OpenID, ${name.slice(0, 8)}…` : `own token, ${name.slice(0, 8)}…`;
}

/** @param {{ held?: Held, refresh(): Promise<void> }} props */
export function KeyFiles({ held, refresh }) {
  const [shown, setShown] = useState(/** @type {string | undefined} */ (undefined));
  if (!held || held.isOff || held.owners.length === 0 || !held.bounds) return undefined;
  const { owners, more = 0, bytes = 0, bounds: { bytesPerKey, totalBytes } } = held;
  /** @type {import("./design/table.js").Column<Holding>[]} */
  const columns = [
    {
      id: "owner",
      title: "Key",
      isHead: true,
      grows: true,
      sortBy: ({ owner }) => nameOf(owner),
      view: ({ owner }) => nameOf(owner),
    },
    {
      id: "files",
      title: "Files",
      isNumber: true,
      sortBy: ({ files }) => files,
      view: ({ files }) => files && count(files),
    },
    {
      id: "bytes",
      title: "Stored",
      isNumber: true,
      sortBy: ({ bytes }) => bytes,
      hint: ({ bytes }) => `${count(bytes)} of ${count(bytesPerKey)} bytes`,
      view: ({ bytes }) => inBytes(bytes),
    },
    {
      id: "share",
      title: "Of its bound",
      roomy: true,
      isNumber: true,
      sortBy: ({ bytes }) => bytes,
      view: ({ bytes }) => inPercent(bytes, bytesPerKey),
    },
    {
      id: "actions",
      title: "",
      view: ({ owner }) =>
        html`
          <${Button} aria-label=${`Files of "${nameOf(owner)}"`} onClick=${() => setShown(owner)}>Show<//>
        `,
    },
  ];
  const others = more > 0 ? `; ${count(more)} more keys have less` : "";
  return html`
    <${Card} title="Files" about=${`${inBytes(bytes)} of ${inBytes(totalBytes)} for all keys${others}`} flush>
      <${DataTable}
        label="Files of keys"
        caption="Each file counts 4 kB more than its size. Only the key that uploaded a file can read it"
        columns=${columns}
        items=${owners}
        keyOf=${(/** @type {Holding} */ { owner }) => owner}
      />
      <//>
    ${shown !== undefined && html`
      <${FileList} key=${shown} owner=${shown} onClose=${() => setShown(undefined)} refresh=${refresh} />
    `}
  `;
}

/** @param {{ owner: string, onClose(): void, refresh(): Promise<void> }} props */
function FileList({ owner, onClose, refresh }) {
  const [files, setFiles] = useState(/** @type {File[] | undefined} */ (undefined));
  const read = async () => setFiles((await ask(`files?owner=${encodeURIComponent(owner)}`)).files);
  useEffect(() => void attempt(read), [owner]);
  const remove = (/** @type {File} */ { id, name }) => () =>
    attempt(async () => {
      await order("files/delete", { owner, id });
      toast(`"${name}" is deleted.`);
      await read();
      await refresh();
    });
  /** @type {import("./design/table.js").Column<File>[]} */
  const columns = [
    {
      id: "name",
      title: "Name",
      isHead: true,
      grows: true,
      wide: true,
      hint: ({ name }) => name,
      sortBy: ({ name }) => name,
      view: ({ name }) => name,
    },
    {
      id: "type",
      title: "Type",
      roomy: true,
      sortBy: ({ mediaType }) => mediaType,
      view: ({ mediaType }) => mediaType,
    },
    {
      id: "bytes",
      title: "Size",
      isNumber: true,
      sortBy: ({ bytes }) => bytes,
      hint: ({ bytes }) => `${count(bytes)} bytes`,
      view: ({ bytes }) => inBytes(bytes),
    },
    {
      id: "created",
      title: "Uploaded",
      roomy: true,
      sortBy: ({ created }) => created,
      hint: ({ created }) => exactly(created),
      view: ({ created }) => ago(created),
    },
    {
      id: "expires",
      title: "Expires",
      roomy: true,
      sortBy: ({ expires }) => expires,
      hint: ({ expires }) => expires && exactly(expires),
      view: ({ expires }) => expires ? exactly(expires) : "never",
    },
    { id: "actions", title: "", view: (file) => html`<${Delete} name=${file.name} onDelete=${remove(file)} />` },
  ];
  const title = `Files of "${nameOf(owner)}"`;
  return html`
    <${Dialog} title=${title} kind="roomy" onClose=${onClose} actions=${html`<${Button} onClick=${onClose}>Close<//>`}>
      ${files?.length === 0 &&
        html`<${EmptyState} icon="boxes" title="No file">Uploads that are not complete are not listed.<//>`}
      ${files && files.length > 0 && html`
        <${DataTable} label=${title} columns=${columns} items=${files} keyOf=${(/** @type {File} */ { id }) => id} />
      `}
      <//>
  `;
}

/** Asks once more in its place: what is deleted is gone. @param {{ name: string, onDelete(): void }} props */
function Delete({ name, onDelete }) {
  const [isSure, setSure] = useState(false);
  if (!isSure) return html`<${Button} aria-label=${`Delete "${name}"`} onClick=${() => setSure(true)}>Delete<//>`;
  return html`
    <${Button} kind="danger" autofocus aria-label=${`Confirm: delete "${name}" for good`} onClick=${onDelete}>Confirm<//>
  `;
}
