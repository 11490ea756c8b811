import { mutex } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { OpenedTrainer } from "./opened-trainer.js";
import { openTrainer } from "./opened-trainer.js";
import type { Handlers } from "./serve.js";
import { serve } from "./serve.js";
import type { TrainerMethods } from "./trainer-protocol.js";
import { aborted } from "./until-aborted.js";

// Entry point of a training process, which runs one trainer at a time.

let open: OpenedTrainer | undefined;
/** Calls run one at a time, so that no call observes a partial step. */
const queue = mutex();

function runExclusive<Params, Context extends { signal: AbortSignal }, Result>(
  handler: (params: Params, context: Context) => Promise<Result>,
) {
  return (params: Params, context: Context): Promise<Result> =>
    queue(async () => {
      if (context.signal.aborted) throw aborted();
      return await handler(params, context);
    });
}

const handlers: Handlers<TrainerMethods> = {
  open: runExclusive(async (trainerOptions) => {
    open = await openTrainer(trainerOptions);
  }),
  reopen: runExclusive((trainerOptions) => requireOpen().reopen(trainerOptions)),
  logprobs: runExclusive((sequences, { signal }) => requireOpen().cpu.logprobs(sequences, signal)),
  forwardBackward: runExclusive(({ objective, entropy }, { signal, emit }) =>
    requireOpen().cpu.forwardBackward(objective, { entropy, signal, onProgress: (done) => void emit(done) }),
  ),
  optimStep: runExclusive((settings) => requireOpen().optimStep(settings)),
  save: runExclusive((params) => requireOpen().save(params)),
  release: runExclusive(() => requireOpen().cpu.discardGradient()),
};

function requireOpen(): OpenedTrainer {
  if (!open) throw new HeddleError("failed", "the trainer is not open");
  return open;
}

serve(handlers);
