import { parentPort, workerData } from "node:worker_threads";
import { adapterParameters, modelParameters, parameterSet } from "../../model/parameters.js";
import { toWireError } from "../processes/wire-error.js";
import { emptyGradients } from "./gradients.js";
import type { FromLane, LaneMemory, ToLane } from "./lane-protocol.js";
import { runLaneTask } from "./lane-task.js";
import { openNetwork, type Network } from "./network.js";

// The entry of a thread that computes gradients beside the trainer's own. The library refuses tensors over shared memory, so
// weights are copied from there when they have changed, and sums of gradients are copied there.

const memory = workerData as LaneMemory;
const { config, adapter, headRows, roomy, trained, gradients: shared, stop } = memory;
const own = new Float32Array(trained.length);
const set = parameterSet(adapter ? adapterParameters(config, adapter) : modelParameters(config), own);
const gradients = emptyGradients(set.parameters);
let network: Network | undefined;

parentPort?.on("message", (message: ToLane) => {
  void answer(message).then(send);
});

function send(message: FromLane): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}

async function answer({ task, weightsChanged }: ToLane): Promise<FromLane> {
  try {
    if (weightsChanged) own.set(trained);
    network ??= await open();
    const evaluations = await runLaneTask(task, network, gradients, {
      stopped: () => Atomics.load(stop, 0) !== 0,
      onTrained: (tokens) => send({ type: "trained", tokens }),
    });
    if (task.kind === "accumulate") shared.set(gradients.sums());
    return { type: "done", evaluations };
  } catch (error) {
    return { type: "failed", error: toWireError(error) };
  } finally {
    gradients.clear();
  }
}

function open(): Promise<Network> {
  if (!adapter || !memory.base) return openNetwork({ config, weights: set, headRows, roomy });
  // Messages copy what is not shared.
  const weights = parameterSet(modelParameters(config), memory.base as Float32Array<ArrayBuffer>);
  return openNetwork({ config, weights, adapter: { config: adapter, set }, headRows, roomy });
}
