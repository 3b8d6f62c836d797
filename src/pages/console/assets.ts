/** The console's own files, imported as texts. No file is read at run time, so a compiled gateway contains them. */
import app from "../../console/app.js" with { type: "text" };
import by_hand from "../../console/by_hand.js" with { type: "text" };
import chat_models from "../../console/chat_models.js" with { type: "text" };
import charts from "../../console/charts.js" with { type: "text" };
import configurationStyle from "../../console/configuration.css" with { type: "text" };
import configuration from "../../console/configuration.js" with { type: "text" };
import curl from "../../console/curl.js" with { type: "text" };
import diff from "../../console/diff.js" with { type: "text" };
import dom from "../../console/dom.js" with { type: "text" };
import empty from "../../console/empty.js" with { type: "text" };
import entries from "../../console/entries.js" with { type: "text" };
import facts from "../../console/facts.js" with { type: "text" };
import fidelity from "../../console/fidelity.js" with { type: "text" };
import file_view from "../../console/file_view.js" with { type: "text" };
import page from "../../console/index.html" with { type: "text" };
import inspectStyle from "../../console/inspect.css" with { type: "text" };
import inspect from "../../console/inspect.js" with { type: "text" };
import inspect_side from "../../console/inspect_side.js" with { type: "text" };
import json_lines from "../../console/json_lines.js" with { type: "text" };
import json_place from "../../console/json_place.js" with { type: "text" };
import key_form from "../../console/key_form.js" with { type: "text" };
import keys from "../../console/keys.js" with { type: "text" };
import live from "../../console/live.js" with { type: "text" };
import model_names from "../../console/model_names.js" with { type: "text" };
import other_clients from "../../console/other_clients.js" with { type: "text" };
import playground from "../../console/playground.js" with { type: "text" };
import replay from "../../console/replay.js" with { type: "text" };
import review from "../../console/review.js" with { type: "text" };
import rows from "../../console/rows.js" with { type: "text" };
import setupStyle from "../../console/setup.css" with { type: "text" };
import setup from "../../console/setup.js" with { type: "text" };
import setup_api from "../../console/setup_api.js" with { type: "text" };
import setup_clients from "../../console/setup_clients.js" with { type: "text" };
import setup_code from "../../console/setup_code.js" with { type: "text" };
import setup_files from "../../console/setup_files.js" with { type: "text" };
import setup_first from "../../console/setup_first.js" with { type: "text" };
import setup_models from "../../console/setup_models.js" with { type: "text" };
import setup_sources from "../../console/setup_sources.js" with { type: "text" };
import side from "../../console/side.js" with { type: "text" };
import source_forms from "../../console/source_forms.js" with { type: "text" };
import style from "../../console/style.css" with { type: "text" };
import suggestions from "../../console/suggestions.js" with { type: "text" };
import switches from "../../console/switches.js" with { type: "text" };
import teams from "../../console/teams.js" with { type: "text" };
import timeline from "../../console/timeline.js" with { type: "text" };
import turn_on from "../../console/turn_on.js" with { type: "text" };
import upstreams from "../../console/upstreams.js" with { type: "text" };
import usage from "../../console/usage.js" with { type: "text" };
import wires from "../../console/wires.js" with { type: "text" };
import { keepPage, type KeptPage } from "../../http/kept_page.ts";

const SCRIPTS = {
  app,
  by_hand,
  charts,
  chat_models,
  configuration,
  curl,
  diff,
  dom,
  empty,
  entries,
  facts,
  fidelity,
  file_view,
  inspect,
  inspect_side,
  json_lines,
  json_place,
  key_form,
  keys,
  live,
  model_names,
  other_clients,
  playground,
  replay,
  review,
  rows,
  setup,
  setup_api,
  setup_clients,
  setup_code,
  setup_files,
  setup_first,
  setup_models,
  setup_sources,
  side,
  source_forms,
  suggestions,
  switches,
  teams,
  timeline,
  turn_on,
  upstreams,
  usage,
  wires,
};

const TEXTS: Readonly<Record<string, { type: string; text: string }>> = {
  "": { type: "text/html; charset=utf-8", text: page },
  "style.css": { type: "text/css; charset=utf-8", text: style },
  "configuration.css": { type: "text/css; charset=utf-8", text: configurationStyle },
  "setup.css": { type: "text/css; charset=utf-8", text: setupStyle },
  "inspect.css": { type: "text/css; charset=utf-8", text: inspectStyle },
  ...Object.fromEntries(
    Object.entries(SCRIPTS).map(([name, text]) => [`${name}.js`, { type: "text/javascript; charset=utf-8", text }]),
  ),
};

/** The pages load nothing from elsewhere, and run no code but that of these files. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  // The referrer tells the console which of its pages a request comes from: see `sessions.ts`.
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
};

/** The console's files by their names. */
export const ASSETS: ReadonlyMap<string, KeptPage> = new Map(
  Object.entries(TEXTS).map(([name, { type, text }]) => [
    name,
    keepPage({ text, headers: { ...HEADERS, "content-type": type } }),
  ]),
);
