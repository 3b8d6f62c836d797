/**
 * `deno task bench [--quick]`: what Laneway adds to a direct call to the upstream, beside a bare passthrough. The subjects
 * take turns in every round, so that a machine that is busy for a while is busy for all of them. Beside that, what it
 * costs to store answers and to go on from them, what large lists of vectors, streamed speech, repairs and safeguards cost,
 * and how much memory uploads take.
 */
import { CONVERSATION_MEASURES, holdConversation, WAYS } from "./conversation.ts";
import { UPLOADS } from "./fake_tasks.ts";
import type { Figures } from "./figures.ts";
import { checkAnswers, FULL, measureFresh, MEASURES, QUICK, type Running, warmUp } from "./measure.ts";
import { measureRepairs, REPAIRS } from "./repairs.ts";
import {
  formatConversations,
  formatGateways,
  formatRepairs,
  formatSafeguards,
  formatTasks,
  formatUploads,
  type Results,
} from "./report.ts";
import { measureSafeguards, SAFEGUARDS } from "./safeguards.ts";
import { stopServers } from "./server.ts";
import { startUpstream, SUBJECTS } from "./subjects.ts";
import { askForVectors, measureJson, TASK_MEASURES, TASK_SUBJECTS } from "./tasks.ts";
import { measureUploads, UPLOAD_WAYS } from "./uploads.ts";

const size = Deno.args.includes("--quick") ? QUICK : FULL;
const JSON_COST = "JSON.parse + JSON.stringify";
const names = [
  ...[...SUBJECTS, ...UPLOAD_WAYS].map(({ name }) => name),
  ...WAYS,
  ...TASK_SUBJECTS,
  JSON_COST,
  ...REPAIRS,
  ...SAFEGUARDS,
];
const results = new Map(names.map((name): [string, Results] => [name, { name, rounds: [] }]));
const started = performance.now();
const DEADLINE_MS = 15 * 60_000;

// Without servers every request fails: a server that does not answer cannot hold up the bench for ever.
Deno.unrefTimer(setTimeout(stopServers, DEADLINE_MS));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => void stopServers().then(() => Deno.exit(1)));
}

try {
  const upstream = await startUpstream();

  for (let round = 0; round < size.starts; round++) {
    say(`start ${round + 1} of ${size.starts}`);
    for (const subject of rotate(SUBJECTS, round)) {
      if (!subject.start) continue;
      const server = await subject.start(upstream.origin);
      record(subject.name, round, await measureFresh({ subject, server }));
      await server.stop();
    }
  }

  for (let round = 0; round < size.uploads; round++) {
    say(`uploads ${round + 1} of ${size.uploads}`);
    for (const way of rotate(UPLOAD_WAYS, round)) record(way.name, round, await measureUploads(way, upstream.origin));
  }

  for (let round = 0; round < size.safeguards; round++) {
    say(`safeguards ${round + 1} of ${size.safeguards}`);
    const figures = await measureSafeguards(upstream.origin, size.batches);
    for (const safeguards of SAFEGUARDS) record(safeguards, round, figures[safeguards]);
  }

  const running: Running[] = [];
  for (const subject of SUBJECTS) {
    running.push({ subject, server: await subject.start?.(upstream.origin) ?? upstream });
  }
  for (const each of running) {
    await checkAnswers(each);
    await warmUp(each);
  }
  const conversation = await holdConversation(running.find(({ subject }) => subject.name === "responses")!);
  for (let round = 0; round < size.rounds; round++) {
    say(`round ${round + 1} of ${size.rounds}`);
    for (const measure of MEASURES) {
      for (const each of rotate(running, round)) record(each.subject.name, round, await measure(each, size));
    }
    for (const measure of CONVERSATION_MEASURES) {
      for (const way of rotate(WAYS, round)) record(way, round, await measure(way, conversation, size));
    }
  }

  // After all else: the heaps that these leave behind would slow the small requests down.
  const originOf = (name: string) => running.find(({ subject }) => subject.name === name)!.server.origin;
  const origins = { direct: originOf("direct"), passthrough: originOf("passthrough"), laneway: originOf("chat") };
  const answers = await askForVectors(origins);
  for (let round = 0; round < size.rounds; round++) {
    say(`vectors and speech ${round + 1} of ${size.rounds}`);
    record(JSON_COST, round, measureJson(answers, size));
    for (const measure of TASK_MEASURES) {
      for (const subject of rotate(TASK_SUBJECTS, round)) {
        record(subject, round, await measure(subject, origins[subject], size));
      }
    }
  }

  for (let round = 0; round < size.rounds; round++) {
    say(`repairs ${round + 1} of ${size.rounds}`);
    for (const repairs of rotate(REPAIRS, round)) record(repairs, round, await measureRepairs(repairs));
  }
} finally {
  await stopServers();
}

const [direct, passthrough, ...others] = SUBJECTS.map(({ name }) => results.get(name)!);
const [stateless, stored] = WAYS.map((way) => results.get(way)!);
const [laneway, json] = ["laneway", JSON_COST].map((name) => results.get(name)!);
const [off, on] = REPAIRS.map((name) => results.get(name)!);
const [without, withAll, added] = SAFEGUARDS.map((name) => results.get(name)!);
const uploads = UPLOAD_WAYS.map(({ name }) => results.get(name)!);
const { hardwareConcurrency } = navigator;
const seconds = Math.round((performance.now() - started) / 1_000);
say(`
Deno ${Deno.version.deno}, ${Deno.build.target}, ${hardwareConcurrency} cores, load ${Deno.loadavg()[0]!.toFixed(1)}
${size.rounds} rounds in ${seconds} s: the median of the rounds (least to greatest). "+" is what is added to a direct call.

${formatGateways(direct!, passthrough!, others)}

Responses that are stored in a local file and continued by their id, beside those that are not stored and come with the whole
conversation (about 2 kB in and 1 kB out per turn):

${formatConversations(stateless!, stored!)}

Vectors and speech, beside what parsing and writing the JSON of the same answer takes by itself:

${formatTasks(direct!, passthrough!, laneway!, json!)}

Repairs of what upstreams say that have nothing to do, inside the gateway's process, without a socket:

${formatRepairs(off!, on!)}

Admission, breaker, places and log, all on beside all off, asked in turn; each round has processes of its own:

${formatSafeguards(without!, withAll!, added!)}

${UPLOADS} files of 25 MB on their way to transcription at once, in a gateway that has just started:

${formatUploads(uploads)}

Client, upstream and gateway share the cores, so requests/s say less than the CPU per request. The 99th percentiles and the
fast streams are noisy: compare two runs only where their ranges do not overlap.`);

function record(name: string, round: number, figures: Figures): void {
  const { rounds } = results.get(name)!;
  rounds[round] = { ...rounds[round], ...figures };
}

function rotate<T>(items: readonly T[], by: number): T[] {
  return items.map((_, at) => items[(at + by) % items.length]!);
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
