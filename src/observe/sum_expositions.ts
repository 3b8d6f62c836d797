/** Adds up the metrics pages of several processes. */

/** Gauges of which the largest value holds, because all processes have the same value or each finds it out by itself. */
const LARGEST: ReadonlySet<string> = new Set([
  "laneway_build_info",
  "laneway_breaker_open_targets",
  "laneway_gateways",
  "laneway_limits_alone",
]);

interface Family {
  name: string;
  /** The lines with its help text and type. */
  head: string[];
  isGauge: boolean;
  series: Map<string, number>;
}

/** The series of all pages. Equal series are added up. The pages come from `Metrics.render`. */
export function sumExpositions(pages: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const page of pages) {
    for (const { name, series, ...rest } of familiesIn(page)) {
      const known = families.get(name);
      if (!known) families.set(name, { name, series, ...rest });
      else for (const [labels, value] of series) add(known, labels, value);
    }
  }
  return Array.from(families.values(), rendered).join("");
}

/** The page without its gauges, which no longer hold once the process is gone. */
export function withoutGauges(page: string): string {
  return familiesIn(page).filter(({ isGauge }) => !isGauge).map(rendered).join("");
}

function add({ name, series }: Family, labels: string, value: number): void {
  const before = series.get(labels);
  if (before === undefined) series.set(labels, value);
  else series.set(labels, LARGEST.has(name) ? Math.max(before, value) : before + value);
}

function familiesIn(page: string): Family[] {
  const families: Family[] = [];
  for (const line of page.split("\n")) {
    const [, name, type] = /^# (?:HELP (\S+)|TYPE \S+ (\w+))/.exec(line) ?? [];
    if (name !== undefined) families.push({ name, head: [], isGauge: false, series: new Map() });
    const family = families.at(-1);
    if (!family || line === "") continue;
    if (line.startsWith("#")) family.head.push(line);
    else family.series.set(line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1)));
    family.isGauge ||= type === "gauge";
  }
  return families;
}

function rendered({ head, series }: Family): string {
  return [...head, ...Array.from(series, ([labels, value]) => `${labels} ${value}`)].join("\n") + "\n";
}
