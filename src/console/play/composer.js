// @ts-check
/// <reference lib="dom" />
/** A message that somebody writes, with its pictures and files. */
import { Button, Icon, IconButton } from "../design/parts.js";
import { html, useRef, useState } from "../ui.js";
import { AS_FILES, bytesIn, inMegabytes, mostBytes, partsOf } from "./files.js";

/** @typedef {import("./conversation.js").Part} Part */

/** The pictures that a browser draws without running anything. */
const DRAWN = /^image\/(png|jpeg|gif|webp)$/;

/**
 * @param {{ label: string, text: string, files: readonly Part[], onText(text: string): void, onFiles(files: readonly Part[]): void,
 *   onSend(): void, taken?: number, problem?: string, children?: import("../ui.js").Children }} props
 *
 * `taken`: the bytes of the files of earlier messages.
 */
export function Composer({ label, text, files, onText, onFiles, onSend, taken = 0, problem, children }) {
  const [refusal, setRefusal] = useState("");
  const [isOver, setOver] = useState(false);
  const chosen = useRef(/** @type {HTMLInputElement | null} */ (null));
  const add = async (/** @type {Iterable<File> | null | undefined} */ list) => {
    const added = [...list ?? []];
    if (added.length === 0) return;
    setRefusal("");
    try {
      onFiles([...files, ...await partsOf(added, taken + bytesIn(files))]);
    } catch (error) {
      setRefusal(/** @type {Error} */ (error).message);
    }
  };
  const over = (/** @type {DragEvent} */ event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    void add(event.dataTransfer?.files);
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    setRefusal("");
    onSend();
  };
  const byKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const pasted = (/** @type {ClipboardEvent} */ event) => void add(event.clipboardData?.files);
  return html`
    <form class=${isOver ? "composer over" : "composer"} onSubmit=${submit} onDragOver=${over} onDragLeave=${() =>
      setOver(false)} onDrop=${drop}>
      <textarea aria-label=${label} rows="3" placeholder="Ask something. Files can be dropped or pasted here"
        value=${text}
        onInput=${(/** @type {any} */ { currentTarget }) =>
          onText(currentTarget.value)} onKeyDown=${byKey} onPaste=${pasted}
      ></textarea>
      <${Files} files=${files} onRemove=${(/** @type {number} */ at) =>
        onFiles(files.filter((_, index) => index !== at))} />
      <p class="error" role="alert">${refusal || problem}</p>
      <div class="actions">
        <input ref=${chosen} type="file" multiple hidden aria-label="Files" onChange=${(
          /** @type {any} */ { currentTarget },
        ) => void add(currentTarget.files).then(() => currentTarget.value = "")} />
        <${Button} icon="plus" onClick=${() => chosen.current?.click()}>Add files<//>
        <span class="quiet">Pictures, PDF, sounds and texts: ${inMegabytes(mostBytes())} in all</span>
        <span class="end">${children}</span>
      </div>
    </form>
  `;
}

/** @param {{ files: readonly Part[], onRemove?(at: number): void }} props */
export function Files({ files, onRemove }) {
  if (files.length === 0) return undefined;
  return html`
    <ul class="play-files" aria-label="Attached files">
      ${files.map((part, at) => {
        const name = part.name ?? part.text?.slice(0, 80).split("\n", 1)[0].replace(/^File |:$/g, "") ?? "file";
        const isDrawn = DRAWN.test(part.mediaType ?? "") && AS_FILES.test(part.mediaType);
        return html`
          <li key=${at}>
            ${isDrawn
              ? html`<img src=${`data:${part.mediaType};base64,${part.source.data}`} alt=${name} />`
              : html`<span><${Icon} name="copy" size=${14} /> ${name}</span>`}
            ${onRemove && html`<${IconButton} icon="x" label=${`Remove ${name}`} onClick=${() => onRemove(at)} />`}
          </li>
        `;
      })}
    </ul>
  `;
}
