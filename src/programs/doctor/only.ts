/** What is left to examine where the command line names a lane or a model. */
import type { Config } from "../../config/schema.ts";
import type { Alias, LaneConfig } from "../../config/lane_schema.ts";
import { UsageError } from "../program.ts";
import { type Examination, usedUpstreams } from "./examination.ts";

/** The configuration without the lanes, models and upstreams that are not asked for. Throws `UsageError` where there is nothing of that name. */
export function narrowedTo({ lane, model }: Examination["only"], config: Config): Config {
  if (lane === undefined && model === undefined) return config;
  const all = Object.keys(config.lanes);
  if (lane !== undefined && !all.includes(lane)) {
    throw new UsageError(`Cannot find lane "${lane}": this gateway has ${namesOf(all)}`);
  }
  const chosen = Object.entries(config.lanes).filter(([name]) => lane === undefined || name === lane);
  const lanes = model === undefined ? chosen : chosen.flatMap(([name, one]) => {
    const narrowed = laneWith(model, one, lane !== undefined);
    return narrowed ? [[name, narrowed] as const] : [];
  });
  if (lanes.length === 0) throw new UsageError(`Cannot find model "${model}": ${whereToLook(lane)}`);
  const narrowed = { ...config, lanes: Object.fromEntries(lanes) };
  const used = usedUpstreams(narrowed);
  const upstreams = Object.entries(config.upstreams).filter(([name]) => used.has(name));
  return { ...narrowed, upstreams: Object.fromEntries(upstreams) };
}

/** The lane with that model alone. One that the lane does not list is asked for by the name that the upstream has for it. */
function laneWith(model: string, lane: LaneConfig, isNamed: boolean): LaneConfig | undefined {
  const alias = Object.hasOwn(lane.models, model) ? lane.models[model] : undefined;
  const upstream = isNamed ? lane.upstreams.chat : undefined;
  if (!alias && upstream === undefined) return undefined;
  const found: Alias = alias ?? { task: "chat", targets: [{ upstream: upstream!, model }] };
  return { ...lane, upstreams: {}, models: { [model]: found } };
}

function whereToLook(lane: string | undefined): string {
  if (lane !== undefined) return `lane "${lane}" lists none of that name`;
  return "no lane lists one of that name; with --lane, a model is asked that only its upstream lists";
}

function namesOf(lanes: readonly string[]): string {
  return lanes.map((name) => `"${name}"`).join(", ");
}
