/** The console's own files, imported as texts. No file is read at run time, so a compiled gateway contains them. */
import actions from "../../console/actions.js" with { type: "text" };
import app from "../../console/app.js" with { type: "text" };
import by_hand from "../../console/by_hand.js" with { type: "text" };
import chat_models from "../../console/chat_models.js" with { type: "text" };
import configurationStyle from "../../console/configuration.css" with { type: "text" };
import configuration from "../../console/configuration.js" with { type: "text" };
import curl from "../../console/curl.js" with { type: "text" };
import chart from "../../console/design/chart.js" with { type: "text" };
import code from "../../console/design/code.js" with { type: "text" };
import components from "../../console/design/components.css" with { type: "text" };
import gallery from "../../console/design/gallery.js" with { type: "text" };
import icons from "../../console/design/icons.js" with { type: "text" };
import overlays from "../../console/design/overlays.js" with { type: "text" };
import parts from "../../console/design/parts.js" with { type: "text" };
import table from "../../console/design/table.js" with { type: "text" };
import tokens from "../../console/design/tokens.css" with { type: "text" };
import waterfall from "../../console/design/waterfall.js" with { type: "text" };
import diff from "../../console/diff.js" with { type: "text" };
import dom from "../../console/dom.js" with { type: "text" };
import empty from "../../console/empty.js" with { type: "text" };
import entries from "../../console/entries.js" with { type: "text" };
import facts from "../../console/facts.js" with { type: "text" };
import fidelity from "../../console/fidelity.js" with { type: "text" };
import file_view from "../../console/file_view.js" with { type: "text" };
import filter from "../../console/filter.js" with { type: "text" };
import choices from "../../console/frame/choices.js" with { type: "text" };
import frame from "../../console/frame/frame.css" with { type: "text" };
import pages from "../../console/frame/pages.js" with { type: "text" };
import palette from "../../console/frame/palette.js" with { type: "text" };
import sidebar from "../../console/frame/sidebar.js" with { type: "text" };
import page from "../../console/index.html" with { type: "text" };
import inspectStyle from "../../console/inspect.css" with { type: "text" };
import inspect from "../../console/inspect.js" with { type: "text" };
import inspect_parts from "../../console/inspect_parts.js" with { type: "text" };
import inspect_request from "../../console/inspect_request.js" with { type: "text" };
import json_lines from "../../console/json_lines.js" with { type: "text" };
import json_place from "../../console/json_place.js" with { type: "text" };
import key_form from "../../console/key_form.js" with { type: "text" };
import keys from "../../console/keys.js" with { type: "text" };
import live from "../../console/live.js" with { type: "text" };
import live_charts from "../../console/live_charts.js" with { type: "text" };
import model_names from "../../console/model_names.js" with { type: "text" };
import models from "../../console/models.js" with { type: "text" };
import other_clients from "../../console/other_clients.js" with { type: "text" };
import playground from "../../console/playground.js" with { type: "text" };
import replay from "../../console/replay.js" with { type: "text" };
import markdown from "../../console/design/markdown.js" with { type: "text" };
import session from "../../console/session.js" with { type: "text" };
import session_content from "../../console/session_content.js" with { type: "text" };
import session_words from "../../console/session_words.js" with { type: "text" };
import sessions from "../../console/sessions.js" with { type: "text" };
import sessionStyle from "../../console/sessions.css" with { type: "text" };
import review from "../../console/review.js" with { type: "text" };
import setupStyle from "../../console/setup.css" with { type: "text" };
import setup from "../../console/setup.js" with { type: "text" };
import setup_api from "../../console/setup_api.js" with { type: "text" };
import setup_clients from "../../console/setup_clients.js" with { type: "text" };
import setup_code from "../../console/setup_code.js" with { type: "text" };
import setup_files from "../../console/setup_files.js" with { type: "text" };
import setup_first from "../../console/setup_first.js" with { type: "text" };
import setup_models from "../../console/setup_models.js" with { type: "text" };
import setup_sources from "../../console/setup_sources.js" with { type: "text" };
import show_text from "../../console/show_text.js" with { type: "text" };
import side from "../../console/side.js" with { type: "text" };
import source_forms from "../../console/source_forms.js" with { type: "text" };
import style from "../../console/style.css" with { type: "text" };
import suggestions from "../../console/suggestions.js" with { type: "text" };
import switches from "../../console/switches.js" with { type: "text" };
import teams from "../../console/teams.js" with { type: "text" };
import theme from "../../console/theme.js" with { type: "text" };
import timeline from "../../console/timeline.js" with { type: "text" };
import turn_on from "../../console/turn_on.js" with { type: "text" };
import ui from "../../console/ui.js" with { type: "text" };
import upstreams from "../../console/upstreams.js" with { type: "text" };
import usage from "../../console/usage.js" with { type: "text" };
import budgets from "../../console/budgets.js" with { type: "text" };
import usage_charts from "../../console/usage_charts.js" with { type: "text" };
import usage_view from "../../console/usage_view.js" with { type: "text" };
import wires from "../../console/wires.js" with { type: "text" };
import words from "../../console/words.js" with { type: "text" };
import { keepPage, type KeptPage } from "../../http/kept_page.ts";
import { LIBRARIES, LIBRARY_STYLES, linked, withoutComments } from "./libraries.ts";
import { modulesOf, wholePage, wholeStyle } from "./whole_page.ts";

const SCRIPTS: Readonly<Record<string, string>> = {
  actions,
  app,
  budgets,
  by_hand,
  chat_models,
  configuration,
  curl,
  "design/chart": chart,
  "design/code": code,
  "design/gallery": gallery,
  "design/icons": icons,
  "design/markdown": markdown,
  "design/overlays": overlays,
  "design/parts": parts,
  "design/table": table,
  "design/waterfall": waterfall,
  diff,
  dom,
  empty,
  entries,
  facts,
  fidelity,
  file_view,
  filter,
  "frame/choices": choices,
  "frame/pages": pages,
  "frame/palette": palette,
  "frame/sidebar": sidebar,
  inspect,
  inspect_parts,
  inspect_request,
  json_lines,
  json_place,
  key_form,
  keys,
  live,
  live_charts,
  model_names,
  models,
  other_clients,
  playground,
  replay,
  session,
  session_content,
  session_words,
  sessions,
  review,
  setup,
  setup_api,
  setup_clients,
  setup_code,
  setup_files,
  setup_first,
  setup_models,
  setup_sources,
  show_text,
  side,
  source_forms,
  suggestions,
  switches,
  teams,
  theme,
  timeline,
  turn_on,
  ui,
  upstreams,
  usage,
  usage_charts,
  usage_view,
  wires,
  words,
};

const STYLES: Readonly<Record<string, string>> = {
  configuration: configurationStyle,
  "design/components": components,
  "design/tokens": tokens,
  "frame/frame": frame,
  inspect: inspectStyle,
  sessions: sessionStyle,
  setup: setupStyle,
  style,
  ...LIBRARY_STYLES,
};

const MODULES: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(SCRIPTS).map(([name, text]) => [`${name}.js`, linked(`${name}.js`, withoutComments(text))]),
  ...Object.entries(LIBRARIES).map(([file, text]) => [file, linked(file, text)]),
]);

/** The modules of the page that is opened first. */
const FIRST = ["app.js", "live.js"];
const first = new Set(FIRST.flatMap((entry) => modulesOf(entry, (file) => MODULES[file] ?? "")));

const CSS = "text/css; charset=utf-8";
const TEXTS: Readonly<Record<string, { type: string; text: string }>> = {
  "": { type: "text/html; charset=utf-8", text: wholePage(page, { style: "all.css", modules: [...first] }) },
  "all.css": { type: CSS, text: wholeStyle(page, (file) => STYLES[file.replace(/\.css$/, "")] ?? "") },
  ...Object.fromEntries(Object.entries(STYLES).map(([name, text]) => [`${name}.css`, { type: CSS, text }])),
  ...Object.fromEntries(
    Object.entries(MODULES).map(([file, text]) => [file, { type: "text/javascript; charset=utf-8", text }]),
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
