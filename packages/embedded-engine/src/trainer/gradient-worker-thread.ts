import { parentPort, workerData } from "node:worker_threads";
import { adapterParameters, modelParameters, parameterSet } from "../model/parameters.js";
import { toWireError } from "@heddle/concurrency";
import { emptyGradients } from "./gradients.js";
import type { FromGradientWorker, GradientWorkerData, ToGradientWorker } from "./gradient-worker-protocol.js";
import { runGradientTask } from "./gradient-task.js";
import type { Network } from "./network.js";
import { openNetwork } from "./network.js";

// Entry point of a worker thread that computes gradients for the trainer. The library refuses tensors over shared
// memory, so changed weights are copied from it, and sums of gradients are copied to it.

const memory = workerData as GradientWorkerData;
const { config, adapter, headRows, reuseArenas, threads, trained, gradients: sharedGradients, stop } = memory;
const localWeights = new Float32Array(trained.length);
const set = parameterSet(adapter ? adapterParameters(config, adapter) : modelParameters(config), localWeights);
const gradients = emptyGradients(set.parameters);
let network: Network | undefined;

parentPort?.on("message", (message: ToGradientWorker) => {
  void respond(message).then(send);
});

function send(message: FromGradientWorker): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}

async function respond({ task, weightsChanged }: ToGradientWorker): Promise<FromGradientWorker> {
  try {
    if (weightsChanged) localWeights.set(trained);
    network ??= await open();
    const evaluations = await runGradientTask(task, network, gradients, {
      stopped,
      onTrained: (tokens) => send({ type: "trained", tokens }),
    });
    if (task.kind === "forwardBackward") sharedGradients.set(gradients.sums());
    return { type: "done", evaluations };
  } catch (error) {
    return { type: "failed", error: toWireError(error) };
  } finally {
    gradients.clear();
  }
}

function stopped(): boolean {
  return Atomics.load(stop, 0) !== 0;
}

function open(): Promise<Network> {
  if (!adapter || !memory.base) return openNetwork({ config, weights: set, headRows, reuseArenas, threads, stopped });
  // Memory that is not shared has been copied by the message.
  const weights = parameterSet(modelParameters(config), memory.base as Float32Array<ArrayBuffer>);
  return openNetwork({ config, weights, adapter: { config: adapter, set }, headRows, reuseArenas, threads, stopped });
}
