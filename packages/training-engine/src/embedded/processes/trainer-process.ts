import { EngineError } from "../../engine-error.js";
import type { LoraConfig, ParameterSet } from "../../model/parameters.js";
import { writeCheckpoint } from "../../weights/checkpoint.js";
import { initialAdapter } from "../../weights/initial-weights.js";
import type { LoadedWeights } from "../../weights/load-weights.js";
import { loadWeights } from "../../weights/load-weights.js";
import type { CpuTrainer } from "../trainer/trainer.js";
import { createCpuTrainer } from "../trainer/trainer.js";
import type { Handlers } from "./serve.js";
import { serve } from "./serve.js";
import type { TrainerMethods, TrainerOpening } from "./trainer-protocol.js";
import { aborted } from "./until-aborted.js";

// The entry of a training process: one trainer, from its weights to its end.

interface OpenTrainer {
  cpu: CpuTrainer;
  loaded: LoadedWeights;
  seed: number;
}

let open: OpenTrainer | undefined;
/** Calls wait for each other, so that a step never sees half of another. */
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
    const { base, config } = loaded;
    const state = cpu.optimizer;
    await writeCheckpoint(directory, {
      baseModel: base.name,
      baseDirectory: base.directory,
      config,
      seed,
      trained: cpu.adapter ? { adapter: cpu.adapter } : { weights: cpu.weights },
      steps: state.steps,
      optimizer: optimizer ? state : undefined,
    });
    return { baseModel: base.name, checkpoint: directory };
  }),
};

function requireOpen(): OpenTrainer {
  if (!open) throw new EngineError("failed", "the trainer is not open");
  return open;
}

async function openTrainer({ models, spec, memoryBytes, workers }: TrainerOpening): Promise<OpenTrainer> {
  const loaded = await loadWeights(models, spec.weights, { optimizer: !spec.resetOptimizer });
  const adapter = adapterOf(spec, loaded);
  // Moments go with what they were made for: not with the weights when an adapter begins on them.
  const optimizer = adapter && !loaded.adapter ? undefined : loaded.optimizer;
  const { config, weights } = loaded;
  const cpu = await createCpuTrainer({ config, weights, adapter, optimizer, memoryBytes, workers });
  return { cpu, loaded, seed: spec.seed };
}

/** A checkpoint's adapter goes on with its own shape. */
function adapterOf(
  { adapter, weights, seed }: TrainerOpening["spec"],
  loaded: LoadedWeights,
): { config: LoraConfig; set: ParameterSet } | undefined {
  if (loaded.adapter) return loaded.adapter;
  if (!adapter) return undefined;
  if (weights.checkpoint !== undefined) {
    throw new EngineError(
      "unsupported",
      "an adapter cannot begin on a checkpoint of fully trained weights; begin on its base model, or train all weights",
      "adapter",
    );
  }
  return { config: adapter, set: initialAdapter(loaded.config, adapter, seed) };
}

serve(handlers);
