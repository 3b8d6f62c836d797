/** Asks for sources, models and a default, shows the files and writes them. */
import type { Dialog } from "../dialog/dialog.ts";
import { openDialog } from "../dialog/mod.ts";
import { invocation } from "../invocation.ts";
import type { Program } from "../program.ts";
import { withProgress } from "../progress.ts";
import type { Answers, ChosenModel, FoundServer } from "./answers.ts";
import { askDefault, askModels } from "./ask_models.ts";
import { type Added, askSources } from "./ask_sources.ts";
import { type Asking, given, LeftError } from "./asking.ts";
import { find } from "./find.ts";
import { afterwards, problemsIn, showFiles } from "./show.ts";
import { type Place, plan, presentText, standingProblems, type World, write } from "./work.ts";

/** The user's answers so far. */
interface Draft {
  added: Added[];
  models: ChosenModel[];
  default?: string;
}

/** Returns the exit code. */
export async function converse(place: Place, program: Program, world: World): Promise<number> {
  const dialog = world.dialog ?? await openDialog(program);
  const asking = { dialog, place, program };
  const problems = standingProblems(place);
  if (problems.length > 0) {
    program.streams.say(problemsIn({ ok: false, problems }));
    return 1;
  }
  if (presentText(place.path) !== undefined) dialog.say(`${place.path} is there already: your answers add to it`);
  try {
    const { servers } = await withProgress(
      program,
      "Looking for model servers on this machine",
      () => find(program.platform, world.addresses),
    );
    return await fill(asking, servers);
  } catch (error) {
    if (!(error instanceof LeftError)) throw error;
    program.streams.say(`Nothing was written. To start again: ${invocation(program.platform)} init`);
    return 130;
  }
}

type Step = "sources" | "models" | "default" | "write";

async function fill(asking: Asking, servers: readonly FoundServer[]): Promise<number> {
  const { dialog, place } = asking;
  const draft: Draft = { added: [], models: [] };
  let step: Step = "sources";
  for (;;) {
    if (step === "sources") {
      draft.added = await askSources(asking, servers, draft.added);
      draft.models = draft.models.filter(({ upstream }) => draft.added.some((one) => one.upstream === upstream));
      step = "models";
    }
    if (step === "models") draft.models = await askModels(asking, draft.added, draft.models);
    if (step !== "write") draft.default = await askDefault(asking, draft.added, draft.models);
    const answers: Answers = {
      sources: draft.added.map(({ source }) => source),
      models: draft.models,
      ...draft.default !== undefined && { default: draft.default },
    };
    const planned = plan(answers, place);
    if (!planned.ok) {
      dialog.say(problemsIn(planned));
      step = await repeat(dialog);
      continue;
    }
    dialog.say(showFiles(planned.files));
    if (planned.files.length === 0) return 0;
    step = await review(dialog);
    if (step !== "write") continue;
    const written = write(answers, planned.version, place);
    if (written.ok) {
      dialog.say(afterwards(written.files, place));
      return 0;
    }
    dialog.say(written.reason);
    step = await repeat(dialog);
  }
}

const CHANGES: readonly { value: Step; label: string }[] = [
  { value: "sources", label: "Change the sources" },
  { value: "models", label: "Change the models" },
  { value: "default", label: "Change the default" },
];

async function review(dialog: Dialog): Promise<Step> {
  const choices = [{ value: "write", label: "Write these files" }, ...CHANGES, {
    value: "leave",
    label: "Write nothing",
  }];
  return leaving(await dialog.choose("Is this right?", choices, "write"));
}

async function repeat(dialog: Dialog): Promise<Step> {
  const again = { value: "write", label: "Try again" };
  return leaving(await dialog.choose("What now?", [again, ...CHANGES, { value: "leave", label: "Leave" }], "write"));
}

function leaving(answer: string | undefined): Step {
  if (answer === "leave") throw new LeftError();
  return given(answer) as Step;
}
