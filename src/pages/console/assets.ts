// deno-lint-ignore-file house/file-length -- a list of files
/** The console's own files, imported as texts. No file is read at run time, so a compiled gateway contains them. */
import actions from "../../console/actions.js" with { type: "text" };
import app from "../../console/app.js" with { type: "text" };
import code_button from "../../console/code_button.js" with { type: "text" };
import by_hand from "../../console/by_hand.js" with { type: "text" };
import change from "../../console/change.js" with { type: "text" };
import chat_models from "../../console/chat_models.js" with { type: "text" };
import configurationStyle from "../../console/configuration.css" with { type: "text" };
import configuration from "../../console/configuration.js" with { type: "text" };
import curl from "../../console/curl.js" with { type: "text" };
import chart from "../../console/design/chart.js" with { type: "text" };
import clients from "../../console/clients.js" with { type: "text" };
import setting_note from "../../console/setting_note.js" with { type: "text" };
import code from "../../console/design/code.js" with { type: "text" };
import diff_view from "../../console/design/diff_view.js" with { type: "text" };
import components from "../../console/design/components.css" with { type: "text" };
import gallery from "../../console/design/gallery.js" with { type: "text" };
import icons from "../../console/design/icons.js" with { type: "text" };
import listTable from "../../console/design/list.js" with { type: "text" };
import order from "../../console/design/order.js" with { type: "text" };
import overlays from "../../console/design/overlays.js" with { type: "text" };
import parts from "../../console/design/parts.js" with { type: "text" };
import table from "../../console/design/table.js" with { type: "text" };
import tokens from "../../console/design/tokens.css" with { type: "text" };
import waterfall from "../../console/design/waterfall.js" with { type: "text" };
import diff from "../../console/diff.js" with { type: "text" };
import dom from "../../console/dom.js" with { type: "text" };
import edits from "../../console/edits.js" with { type: "text" };
import empty from "../../console/empty.js" with { type: "text" };
import entries from "../../console/entries.js" with { type: "text" };
import facts from "../../console/facts.js" with { type: "text" };
import fidelity from "../../console/fidelity.js" with { type: "text" };
import file_view from "../../console/file_view.js" with { type: "text" };
import filter from "../../console/filter.js" with { type: "text" };
import filter_bar from "../../console/filter_bar.js" with { type: "text" };
import form_parts from "../../console/form_parts.js" with { type: "text" };
import choices from "../../console/frame/choices.js" with { type: "text" };
import frame from "../../console/frame/frame.css" with { type: "text" };
import pages from "../../console/frame/pages.js" with { type: "text" };
import palette from "../../console/frame/palette.js" with { type: "text" };
import sidebar from "../../console/frame/sidebar.js" with { type: "text" };
import page from "../../console/index.html" with { type: "text" };
import inspectStyle from "../../console/inspect.css" with { type: "text" };
import inspect from "../../console/inspect.js" with { type: "text" };
import inspect_address from "../../console/inspect_address.js" with { type: "text" };
import inspect_answer from "../../console/inspect_answer.js" with { type: "text" };
import inspect_compare from "../../console/inspect_compare.js" with { type: "text" };
import inspect_parts from "../../console/inspect_parts.js" with { type: "text" };
import inspect_request from "../../console/inspect_request.js" with { type: "text" };
import inspect_steps from "../../console/inspect_steps.js" with { type: "text" };
import json_lines from "../../console/json_lines.js" with { type: "text" };
import json_place from "../../console/json_place.js" with { type: "text" };
import key_dialogs from "../../console/key_dialogs.js" with { type: "text" };
import key_files from "../../console/key_files.js" with { type: "text" };
import key_form from "../../console/key_form.js" with { type: "text" };
import keys from "../../console/keys.js" with { type: "text" };
import live from "../../console/live.js" with { type: "text" };
import live_charts from "../../console/live_charts.js" with { type: "text" };
import model_dialogs from "../../console/model_dialogs.js" with { type: "text" };
import model_form from "../../console/model_form.js" with { type: "text" };
import live_history from "../../console/live_history.js" with { type: "text" };
import live_list from "../../console/live_list.js" with { type: "text" };
import live_query from "../../console/live_query.js" with { type: "text" };
import model_names from "../../console/model_names.js" with { type: "text" };
import models from "../../console/models.js" with { type: "text" };
import other_clients from "../../console/other_clients.js" with { type: "text" };
import playAnswer from "../../console/play/answer.js" with { type: "text" };
import playCode from "../../console/play/code.js" with { type: "text" };
import playComposer from "../../console/play/composer.js" with { type: "text" };
import playConversation from "../../console/play/conversation.js" with { type: "text" };
import playFiles from "../../console/play/files.js" with { type: "text" };
import playPanel from "../../console/play/panel.js" with { type: "text" };
import playSettings from "../../console/play/settings.js" with { type: "text" };
import playShare from "../../console/play/share.js" with { type: "text" };
import playTools from "../../console/play/tools.js" with { type: "text" };
import playground from "../../console/playground.js" with { type: "text" };
import playStyle from "../../console/playground.css" with { type: "text" };
import replay from "../../console/replay.js" with { type: "text" };
import request_texts from "../../console/request_texts.js" with { type: "text" };
import request_code from "../../console/request_code.js" with { type: "text" };
import markdown from "../../console/design/markdown.js" with { type: "text" };
import session from "../../console/session.js" with { type: "text" };
import session_content from "../../console/session_content.js" with { type: "text" };
import session_fetch from "../../console/session_fetch.js" with { type: "text" };
import session_steps from "../../console/session_steps.js" with { type: "text" };
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
import show_change from "../../console/show_change.js" with { type: "text" };
import show_text from "../../console/show_text.js" with { type: "text" };
import streams from "../../console/streams.js" with { type: "text" };
import source_forms from "../../console/source_forms.js" with { type: "text" };
import style from "../../console/style.css" with { type: "text" };
import suggestions from "../../console/suggestions.js" with { type: "text" };
import switches from "../../console/switches.js" with { type: "text" };
import target_rows from "../../console/target_rows.js" with { type: "text" };
import teams from "../../console/teams.js" with { type: "text" };
import theme from "../../console/theme.js" with { type: "text" };
import timeline from "../../console/timeline.js" with { type: "text" };
import turn_on from "../../console/turn_on.js" with { type: "text" };
import ui from "../../console/ui.js" with { type: "text" };
import upstream_health from "../../console/upstream_health.js" with { type: "text" };
import upstream_dialogs from "../../console/upstream_dialogs.js" with { type: "text" };
import upstream_form from "../../console/upstream_form.js" with { type: "text" };
import upstreams from "../../console/upstreams.js" with { type: "text" };
import usage from "../../console/usage.js" with { type: "text" };
import budgets from "../../console/budgets.js" with { type: "text" };
import budgets_page from "../../console/budgets_page.js" with { type: "text" };
import healthStyle from "../../console/health.css" with { type: "text" };
import health from "../../console/health.js" with { type: "text" };
import health_fixes from "../../console/health_fixes.js" with { type: "text" };
import health_now from "../../console/health_now.js" with { type: "text" };
import usage_charts from "../../console/usage_charts.js" with { type: "text" };
import usage_view from "../../console/usage_view.js" with { type: "text" };
import whole_body from "../../console/whole_body.js" with { type: "text" };
import words from "../../console/words.js" with { type: "text" };
import { keepPage, type KeptPage } from "../../http/kept_page.ts";
import { LIBRARIES, LIBRARY_STYLES, linked, withoutComments } from "./libraries.ts";
import { modulesOf, wholePage, wholeStyle } from "./whole_page.ts";

const SCRIPTS: Readonly<Record<string, string>> = {
  actions,
  app,
  code_button,
  budgets,
  budgets_page,
  by_hand,
  change,
  chat_models,
  clients,
  configuration,
  curl,
  "design/chart": chart,
  "design/code": code,
  "design/diff_view": diff_view,
  "design/gallery": gallery,
  "design/icons": icons,
  "design/markdown": markdown,
  "design/list": listTable,
  "design/order": order,
  "design/overlays": overlays,
  "design/parts": parts,
  "design/table": table,
  "design/waterfall": waterfall,
  diff,
  dom,
  edits,
  empty,
  entries,
  facts,
  fidelity,
  file_view,
  filter,
  filter_bar,
  form_parts,
  "frame/choices": choices,
  "frame/pages": pages,
  "frame/palette": palette,
  "frame/sidebar": sidebar,
  health,
  health_fixes,
  health_now,
  inspect,
  inspect_address,
  inspect_answer,
  inspect_compare,
  inspect_parts,
  inspect_request,
  inspect_steps,
  json_lines,
  json_place,
  key_dialogs,
  key_files,
  key_form,
  keys,
  live,
  live_charts,
  model_dialogs,
  model_form,
  live_history,
  live_list,
  live_query,
  model_names,
  models,
  other_clients,
  "play/answer": playAnswer,
  "play/code": playCode,
  "play/composer": playComposer,
  "play/conversation": playConversation,
  "play/files": playFiles,
  "play/panel": playPanel,
  "play/settings": playSettings,
  "play/share": playShare,
  "play/tools": playTools,
  playground,
  replay,
  request_code,
  request_texts,
  session,
  session_content,
  session_fetch,
  session_steps,
  session_words,
  sessions,
  review,
  setting_note,
  setup,
  setup_api,
  setup_clients,
  setup_code,
  setup_files,
  setup_first,
  setup_models,
  setup_sources,
  show_change,
  show_text,
  source_forms,
  streams,
  suggestions,
  switches,
  target_rows,
  teams,
  theme,
  timeline,
  turn_on,
  ui,
  upstream_health,
  upstream_dialogs,
  upstream_form,
  upstreams,
  usage,
  usage_charts,
  usage_view,
  whole_body,
  words,
};

const STYLES: Readonly<Record<string, string>> = {
  configuration: configurationStyle,
  "design/components": components,
  "design/tokens": tokens,
  "frame/frame": frame,
  health: healthStyle,
  inspect: inspectStyle,
  playground: playStyle,
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
