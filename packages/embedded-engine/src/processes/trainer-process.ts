import type { LoraConfig } from "@heddle/training";
import { HeddleError, withLoc } from "@heddle/errors";
import type { ParameterSet } from "../model/parameters.js";
import { writeCheckpoint } from "../weights/checkpoint.js";
import { initialAdapter } from "../weights/initial-weights.js";
import type { LoadedWeights } from "../weights/load-weights.js";
import { loadWeights } from "../weights/load-weights.js";
import { checkpointDigest } from "../weights/weights-digest.js";
import type { CpuTrainer } from "../trainer/trainer.js";
import { createCpuTrainer } from "../trainer/trainer.js";
import type { Handlers } from "./serve.js";
import { serve } from "./serve.js";
import type { TrainerMethods, TrainerOpening } from "./trainer-protocol.js";
import { aborted } from "./until-aborted.js";

// Entry point of a training process, which runs one trainer.

interface OpenTrainer {
  cpu: CpuTrainer;
  loaded: LoadedWeights;
  seed: number;
}

let open: OpenTrainer | undefined;
/** Calls run one at a time, so that no call observes a partial step. */
let last: Promise<unknown> = Promise.resolve();

function runExclusive<Params, Context extends { signal: AbortSignal }, Result>(
  handler: (params: Params, context: Context) => Promise<Result>,
) {
  return (params: Params, context: Context): Promise<Result> => {
    const result = last.then(() => {
      if (context.signal.aborted) throw aborted();
      return handler(params, context);
    });
    last = result.catch(() => undefined);
    return result;
  };
}

const handlers: Handlers<TrainerMethods> = {
  open: runExclusive(async (opening) => {
    open = await openTrainer(opening);
  }),
  logprobs: runExclusive((sequences, { signal }) => requireOpen().cpu.logprobs(sequences, signal)),
  forwardBackward: runExclusive(({ objective, entropy }, { signal, emit }) =>
    requireOpen().cpu.forwardBackward(objective, { entropy, signal, onProgress: emit }),
  ),
  optimStep: runExclusive((settings) => requireOpen().cpu.optimStep(settings)),
  save: runExclusive(async ({ directory, optimizer }) => {
    const { cpu, loaded, seed } = requireOpen();
    const { base, baseDigest, config } = loaded;
    const state = cpu.optimizer;
    const written = await writeCheckpoint(directory, {
      baseModel: base.name,
      baseDigest,
      baseDirectory: base.directory,
      config,
      seed,
      trained: cpu.adapter ? { adapter: cpu.adapter } : { weights: cpu.weights },
      steps: state.steps,
      optimizer: optimizer ? state : undefined,
    });
    return { baseModel: base.name, checkpoint: directory, digest: checkpointDigest(written, baseDigest) };
  }),
};

function requireOpen(): OpenTrainer {
  if (!open) throw new HeddleError("failed", "the trainer is not open");
  return open;
}

async function openTrainer({ models, spec, memoryBytes, workers }: TrainerOpening): Promise<OpenTrainer> {
  const loaded = await withLoc(["weights"], () =>
    loadWeights(models, spec.weights, { optimizer: !spec.resetOptimizer }),
  );
  const adapter = adapterOf(spec, loaded);
  // Moments of all weights do not apply to an adapter that starts from them.
  const optimizer = adapter && !loaded.adapter ? undefined : loaded.optimizer;
  const { config, weights } = loaded;
  const cpu = await createCpuTrainer({ config, weights, adapter, optimizer, memoryBytes, workers });
  return { cpu, loaded, seed: spec.seed };
}

/** Returns the adapter to train: a checkpoint's own adapter, or a new one. */
function adapterOf(
  { adapter, weights, seed }: TrainerOpening["spec"],
  loaded: LoadedWeights,
): { config: LoraConfig; set: ParameterSet } | undefined {
  if (loaded.adapter) return loaded.adapter;
  if (!adapter) return undefined;
  if (weights.checkpoint !== undefined) {
    throw new HeddleError(
      "unsupported",
      "an adapter cannot start from a checkpoint of fully trained weights; start from its base model, or train all weights",
      { loc: ["adapter"] },
    );
  }
  return { config: adapter, set: initialAdapter(loaded.config, adapter, seed) };
}

serve(handlers);
