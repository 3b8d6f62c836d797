/** A session in a terminal as an SVG that plays by itself: each line appears at its time, by CSS alone. */

export interface Scene {
  /** The typed command, which may have several lines. */
  command: string;
  /** The printed lines, with their times in milliseconds from the command's start. */
  lines: readonly { at: number; text: string }[];
  title: string;
  /** How long the end of the scene stays, in milliseconds. */
  hold: number;
}

const COLUMNS = 96;
const ROWS = 24;
const WIDTH = 8;
const HEIGHT = 18;
const PAD = 14;
const BAR = 30;

/** Nobody waits longer for a line in the picture, however long it took. */
const LONGEST_PAUSE = 700;
const PER_CHARACTER = 22;

interface Row {
  text: string;
  kind: "typed" | "printed";
  /** When it appears, and by when it is typed. */
  from: number;
  to: number;
}

interface Played {
  title: string;
  from: number;
  to: number;
  rows: Row[];
}

function wrapped(text: string): string[] {
  return text.match(new RegExp(`.{1,${COLUMNS}}`, "gu")) ?? [""];
}

/** The scene from the time `from` on. */
function play({ command, lines, title, hold }: Scene, from: number): Played {
  const rows: Row[] = [];
  let now = from + 400;
  for (const [index, line] of command.split("\n").entries()) {
    const text = index === 0 ? `$ ${line}` : `> ${line}`;
    for (const piece of wrapped(text)) {
      const to = now + piece.length * PER_CHARACTER;
      rows.push({ text: piece, kind: "typed", from: now, to });
      now = to;
    }
  }
  now += 200;
  let before = 0;
  for (const { at, text } of lines) {
    now += Math.min(at - before, LONGEST_PAUSE);
    before = at;
    for (const piece of wrapped(text)) rows.push({ text: piece, kind: "printed", from: now, to: now });
  }
  return { title, from, to: now + hold, rows };
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const STYLE = `
svg{--bg:#fff;--bar:#eef1f4;--fg:#1f2328;--dim:#57606a;--typed:#0a5cc2}
@media(prefers-color-scheme:dark){svg{--bg:#0f1318;--bar:#1b222a;--fg:#dfe5ec;--dim:#9aa6b2;--typed:#79b0ff}}
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--fg);white-space:pre}
.t{fill:var(--typed)}.b{fill:var(--dim)}.s,.r,.c{animation-iteration-count:infinite;animation-fill-mode:both;animation-timing-function:step-end}
.s{opacity:0}.r{visibility:hidden}.c{fill:var(--bg)}`;

/** The whole picture. */
export function drawing(scenes: readonly Scene[]): string {
  const played: Played[] = [];
  for (const scene of scenes) played.push(play(scene, played.at(-1)?.to ?? 0));
  const total = played.at(-1)!.to;
  const percent = (time: number) => `${Math.min(100, (100 * time) / total).toFixed(2)}%`;
  const rules: string[] = [];
  const rule = (name: string, frames: string) => rules.push(`@keyframes ${name}{${frames}}`);
  const parts = played.map(({ title, from, to, rows }, at) => {
    const isLast = at === played.length - 1;
    const start = from === 0 ? "0%{opacity:1}" : `0%{opacity:0}${percent(from)}{opacity:1}`;
    rule(`s${at}`, isLast ? start : `${start}${percent(to)}{opacity:0}`);
    const drawn = rows.map((row, index) => drawnRow(row, `${at}-${index}`, index, { rule, percent, total }));
    const scrolls = rows.flatMap(({ from }, index) =>
      index < ROWS ? [] : [`${percent(from)}{transform:translateY(${(ROWS - 1 - index) * HEIGHT}px)}`]
    );
    if (scrolls.length > 0) rule(`g${at}`, `0%{transform:none}${scrolls.join("")}`);
    const scroll = scrolls.length > 0 ? ` style="animation:g${at} ${total}ms step-end infinite both"` : "";
    return `<g class="s" style="animation-name:s${at};animation-duration:${total}ms"><text class="b" x="${
      PAD + COLUMNS * WIDTH / 2
    }" y="20" text-anchor="middle">${escape(title)}</text><svg y="${BAR}" height="${ROWS * HEIGHT + PAD}"><g${scroll}>${
      drawn.join("")
    }</g></svg></g>`;
  });
  const [width, height] = [COLUMNS * WIDTH + 2 * PAD, ROWS * HEIGHT + BAR + PAD];
  const still =
    `@media(prefers-reduced-motion:reduce){*{animation:none!important}.c{visibility:hidden}g.s:last-of-type{opacity:1}.r{visibility:visible}}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${
    escape(`A terminal: ${scenes.map(({ command }) => command.split("\n")[0]).join("; ")}`)
  }">
<style>${STYLE}
${rules.join("\n")}
${still}</style>
<rect width="${width}" height="${height}" rx="8" fill="var(--bg)" stroke="var(--bar)"/>
<path d="M0 ${BAR}V8a8 8 0 0 1 8-8H${width - 8}a8 8 0 0 1 8 8V${BAR}Z" fill="var(--bar)"/>
${parts.join("\n")}
</svg>
`;
}

interface Pen {
  rule(name: string, frames: string): void;
  percent(time: number): string;
  total: number;
}

/** A row, and for one that is typed the cover that moves off it. */
function drawnRow({ text, kind, from, to }: Row, name: string, index: number, { rule, percent, total }: Pen): string {
  if (text === "") return "";
  const y = index * HEIGHT + HEIGHT;
  rule(`r${name}`, `0%{visibility:hidden}${percent(from)}{visibility:visible}`);
  const timing = `animation-duration:${total}ms`;
  const length = text.length * WIDTH;
  const shown = `<text class="r${
    kind === "typed" ? " t" : ""
  }" style="animation-name:r${name};${timing}" x="${PAD}" y="${y}" textLength="${length}">${escape(text)}</text>`;
  if (kind === "printed") return shown;
  const off = `transform:translateX(${length}px)`;
  rule(
    `c${name}`,
    `0%,${percent(from)}{transform:none;animation-timing-function:steps(${text.length})}${percent(to)},100%{${off}}`,
  );
  return `${shown}<rect class="c" style="animation-name:c${name};${timing}" x="${PAD}" y="${
    y - HEIGHT + 4
  }" width="${length}" height="${HEIGHT}"/>`;
}
