/** Every client that the command `connect` knows. A new one is a file here and a line below. */
import type { Client } from "../../../src/contract/client.ts";
import { aider } from "./aider.ts";
import { cursor, jetbrains, openWebui, rooCode } from "./by_hand.ts";
import { copilot, ollamaClients } from "./by_variables.ts";
import { claudeCode } from "./claude_code.ts";
import { claudeDesktop } from "./claude_desktop.ts";
import { cline } from "./cline.ts";
import { codex, codexApp } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { crush } from "./crush.ts";
import { vscode, zed } from "./editors.ts";
import { geminiCli } from "./gemini_cli.ts";
import { grok } from "./grok.ts";
import { kilo } from "./kilo.ts";
import { kimi } from "./kimi.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwenCode } from "./qwen_code.ts";

export const clients: readonly Client[] = [
  claudeCode,
  claudeDesktop,
  codex,
  codexApp,
  opencode,
  kilo,
  kimi,
  grok,
  continueDev,
  cline,
  rooCode,
  qwenCode,
  geminiCli,
  copilot,
  pi,
  zed,
  vscode,
  jetbrains,
  aider,
  crush,
  cursor,
  openWebui,
  ollamaClients,
];
