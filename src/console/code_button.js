// @ts-check
/// <reference lib="dom" />
/** A button that shows a request as a command or a program, to be copied. */
import { html, signal, useEffect, useRef, useState } from "./ui.js";
import { attempt } from "./actions.js";
import { Dialog } from "./design/overlays.js";
import { Button, Segments } from "./design/parts.js";
import { loading } from "./dom.js";
import { wholeBody } from "./whole_body.js";

export const LANGUAGES = [
  { value: "curl", title: "curl" },
  { value: "python", title: "Python" },
  { value: "typescript", title: "TypeScript" },
];

/** The language that was chosen last. */
const language = signal("curl");

/**
 * @param {{ request: import("./request_code.js").Request, variable: string, isOwnKey?: boolean, id: string, part: string }} props
 *
 * `variable`: of the environment, with the key. `isOwnKey`: whether it is a key of this gateway. `id` and `part`: where all of the body
 * is, if the page has only its beginning.
 */
export function AsCode({ request, variable, isOwnKey = false, id, part }) {
  const [shown, setShown] = useState(/** @type {{ [language: string]: string } | undefined} */ (undefined));
  const open = () =>
    attempt(async () => {
      const body = await wholeBody(id, part, request.body);
      const { textsOf } = await loading(() => import("./request_texts.js"));
      setShown(await textsOf({ ...request, body }, { variable, isOwnKey }));
    });
  return html`
    <${Button} icon="square-terminal" onClick=${open}>As code<//>
    ${shown && html`<${CodeDialog} texts=${shown} variable=${variable} onClose=${() => setShown(undefined)} />`}
  `;
}

/** @param {{ texts: { [language: string]: string }, variable: string, onClose(): void }} props */
function CodeDialog({ texts, variable, onClose }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [state, setState] = useState("");
  useEffect(() => setState(""), [language.value]);
  const title = LANGUAGES.find(({ value }) => value === language.value)?.title ?? "";
  const copy = async () => {
    area.current?.select();
    const isCopied = await navigator.clipboard?.writeText(texts[language.value] ?? "").then(() => true, () => false);
    setState(isCopied ? "Copied" : "Selected: copy it with the keyboard");
  };
  return html`
    <${Dialog} title="As code" kind="code" onClose=${onClose} actions=${html`
      <span role="status" class="quiet">${state}</span><${Button} kind="primary" icon="copy" onClick=${copy}>Copy<//>
    `}>
      <${Segments} label="Language" options=${LANGUAGES} value=${language.value} onChoose=${(
        /** @type {string} */ value,
      ) => language.value = value} />
      <p
        class="quiet">It sends the same request again. The key is not in it: put yours into ${variable} in the environment.</p>
      <textarea class="code" readonly rows="20" wrap="off" spellcheck="false" aria-label=${`The request in ${title}`} ref=${area}
        value=${texts[language.value]}></textarea>
      <//>
  `;
}
