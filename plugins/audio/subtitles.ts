/** Subtitles from the segments of a transcript. */
import type { TranscriptSegment } from "../../src/canonical/audio.ts";

/** SubRip: numbered cues. A player that meets an arrow inside a text may take it for a cue's times. */
export function serializeSrt(segments: readonly TranscriptSegment[]): string {
  return cuesOf(segments)
    .map(({ start, end, lines }, index) => {
      const text = lines.join("\n").replace(/(?<!-)-{2,}>/g, "->");
      return `${index + 1}\n${formatTime(start, ",")} --> ${formatTime(end, ",")}\n${text}\n`;
    })
    .join("\n");
}

/** WebVTT, whose texts are marked up. */
export function serializeVtt(segments: readonly TranscriptSegment[]): string {
  const cues = cuesOf(segments).map(({ start, end, lines }) => {
    const text = lines.join("\n").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("-->", "--&gt;");
    return `${formatTime(start, ".")} --> ${formatTime(end, ".")}\n${text}\n`;
  });
  return ["WEBVTT\n", ...cues].join("\n");
}

/** What is shown, and when: times in whole milliseconds, the end after the start. */
interface Cue {
  start: number;
  end: number;
  lines: string[];
}

/** In the order of time. A blank line would end a cue, so it goes; with nothing left there is no cue. */
function cuesOf(segments: readonly TranscriptSegment[]): Cue[] {
  return segments
    .map(({ start, end, text }) => {
      const from = Math.max(0, Math.round(start * 1000));
      const lines = text.split(/[\r\n\u2028\u2029]+/).map((line) => line.trim()).filter((line) => line !== "");
      return { start: from, end: Math.max(from + 1, Math.round(end * 1000)), lines };
    })
    .filter(({ lines }) => lines.length > 0)
    .sort((one, other) => one.start - other.start);
}

/** Milliseconds as `01:02:03,004`; hours are always there. */
function formatTime(ms: number, point: "," | "."): string {
  const pad = (value: number, width: number) => String(Math.floor(value)).padStart(width, "0");
  const clock = [ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60].map((value) => pad(value, 2)).join(":");
  return `${clock}${point}${pad(ms % 1000, 3)}`;
}
