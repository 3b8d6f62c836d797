// @ts-check
/// <reference lib="dom" />
/** The buttons that fix what a check has found, or lead to where it can be fixed. */
import { html } from "./ui.js";
import { attempt } from "./actions.js";
import { toast } from "./design/overlays.js";
import { Button, ButtonLink } from "./design/parts.js";
import { order } from "./dom.js";
import { showChange } from "./turn_on.js";

/** @typedef {import("./health.js").Finding} Finding */

/** The pages on which findings can be fixed. The first that fits counts. @type {readonly [check: RegExp, words: string, href: string][]} */
const PLACES = [
  [/^secret-(missing|needed|refused)$/, "Enter the key", "#setup?upstream"],
  [/^open-to-others$/, "Create a key", "#keys"],
  [/^client-/, "Connect it again", "#clients"],
  [/^models-not-asked$/, "Add a model", "#setup?models"],
  [
    /^(configuration-(syntax|invalid)|setting-unknown|reference-broken|sealing-key-short|issuer-|oidc-)/,
    "Open the configuration",
    "#configuration",
  ],
];

/** The address of an upstream's entry. @param {string} name */
export function placeOfUpstream(name) {
  return `#upstreams?${encodeURIComponent(name)}`;
}

/** @param {Finding} finding */
function linkFor({ level, check, subject }) {
  // The models of an upstream are not asked because of what is found of the upstream itself.
  if (level === "ok" || level === "skipped" && !/^lane /.test(subject)) return undefined;
  const place = PLACES.find(([words]) => words.test(check));
  if (place) return { words: place[1], href: place[2] };
  const upstream = /^upstream "(.*)"$/.exec(subject)?.[1];
  return upstream === undefined ? undefined : { words: "Open the upstream", href: placeOfUpstream(upstream) };
}

/** @param {{ finding: Finding, onFixed(): Promise<unknown>, children?: import("./ui.js").Children }} props */
export function Fixes({ finding, onFixed, children }) {
  const { subject, settings, forget } = finding;
  const link = linkFor(finding);
  const write = () =>
    showChange({
      words: "Fix it",
      title: `Fix it: ${subject}`,
      about: "This setting tells the gateway what the check has found. Nothing is written before you have seen it.",
      settings: /** @type {NonNullable<Finding["settings"]>} */ (settings),
    });
  const forgotten = () =>
    attempt(async () => {
      await order("upstreams/forget", forget);
      toast(`What ${forget?.model} refuses is forgotten`);
      await onFixed();
    });
  return html`
    <span class="row-actions">
      ${children}
      ${settings && html`<${Button} aria-label=${`Fix it: ${subject}`} onClick=${write}>Fix it …<//>`}
      ${forget && html`<${Button} aria-label=${`Forget all that ${subject} refuses`} onClick=${forgotten}>Forget<//>`}
      ${link && html`<${ButtonLink} href=${link.href}>${link.words}<//>`}
    </span>
  `;
}
