import type { LoraConfig } from "@heddle/training";
import { HeddleError } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import { isLinearLayer } from "../model/layer-kinds.js";
import type { ParameterSet } from "../model/parameters.js";
import { headBackwardGraph, headForwardGraph } from "../graph/head.js";
import { layerBackwardGraph, layerForwardGraph } from "../graph/layer.js";
import type { Session, Tensor } from "../session.js";
import { discard, unavailableReason, openSession, tensor } from "../session.js";
import type { BatchInputs, BatchShape } from "./batch-inputs.js";
import { batchInputs } from "./batch-inputs.js";
import type { Gradients } from "./gradients.js";
import { weightTensors } from "./weight-tensors.js";

type Tensors = Readonly<Record<string, Tensor>>;
type Floats = Tensor<"float32">;

export interface NetworkSettings {
  config: ModelConfig;
  weights: ParameterSet;
  adapter?: { config: LoraConfig; set: ParameterSet };
  /** Number of rows whose logits are computed at a time. */
  headRows: number;
  /** Whether each graph keeps its memory arena between runs. Default true. */
  reuseArenas?: boolean;
  /** Threads that compute one operator. Default 1. */
  threads?: number;
  /** Checked before every graph run: a pass rejects with `aborted` once it returns true. Default: never. */
  stopped?: () => boolean;
}

/** A padded batch: `tokens` [rows, time]. The values of padding tokens at the end do not matter. */
export interface TokenBatch extends BatchShape {
  tokens: Int32Array;
}

export interface ForwardMode {
  /** Whether a backward pass follows. */
  gradient: boolean;
  /**
   * Whether the pass takes as little memory as possible: it keeps only the inputs of the layers, and computes the
   * scores of attention in blocks.
   */
  lowMemory: boolean;
}

interface ForwardPass {
  batch: TokenBatch;
  inputs: BatchInputs;
  /** The residual stream after the last layer: [rows * time, hidden]. */
  output: Floats;
  layers: { x: Floats; kept: Tensors | undefined }[];
}

/** Positions (row * time + offset) whose next token is scored, in order, and those tokens. */
export interface HeadRows {
  positions: Int32Array;
  targets: Int32Array;
}

interface HeadResult {
  logprobs: Float32Array;
  /** In nats, if requested. */
  entropies?: Float32Array;
}

/**
 * A model as onnxruntime sessions, one per kind of graph. It reads the weights in place, so an optimizer may change
 * them there. Results depend only on weights, tokens and batch shape.
 */
export interface Network {
  forward(batch: TokenBatch, mode: ForwardMode): Promise<ForwardPass>;
  score(pass: ForwardPass, rows: HeadRows, options: { entropy: boolean }): Promise<HeadResult>;
  /**
   * Adds the gradient of the trained weights (the adapter's factors, if there is an adapter) to `gradients`.
   * `coefficients` are the derivatives of the loss by each row's log-probability. Returns those log-probabilities.
   * Consumes the pass.
   */
  backward(pass: ForwardPass, rows: HeadRows, coefficients: Float32Array, gradients: Gradients): Promise<HeadResult>;
  close(): Promise<void>;
}

export async function openNetwork({
  config,
  weights,
  adapter,
  headRows,
  reuseArenas,
  threads = 1,
  stopped = () => false,
}: NetworkSettings): Promise<Network> {
  const missing = await unavailableReason();
  if (missing !== undefined) throw new HeddleError("unsupported", missing);
  const { hiddenSize } = config;
  const kind = { config, adapter: adapter?.config };
  /** Layers with linear attention have graphs of their own. */
  const formOf = (layer: number) => (isLinearLayer(config, layer) ? ", linear" : "");
  const trainsAllWeights = !adapter;
  const sessions = sessionCache(threads, reuseArenas);
  const inputsOf = batchInputs(config);
  const tensors = weightTensors(config, weights, adapter);
  const throwIfStopped = () => {
    if (stopped()) throw new HeddleError("aborted", "the call was aborted");
  };
  const rowsOf = (table: Float32Array, rows: Int32Array) =>
    tensor("float32", gatherRows(table, rows, hiddenSize), [rows.length, hiddenSize]);
  const embeddingScale = config.embeddingScale ?? 1;

  const forward: Network["forward"] = async (batch, { gradient, lowMemory }) => {
    const inputs = inputsOf(batch, { blockwise: lowMemory });
    const mode = lowMemory ? "blocks" : gradient ? "keep" : "whole";
    const layers: ForwardPass["layers"] = [];
    let x = rowsOf(tensors.embedding, batch.tokens);
    scaleBy(x.data, embeddingScale);
    for (const [index, parameters] of tensors.layers.entries()) {
      throwIfStopped();
      const name = `forward, ${mode}${formOf(index)}`;
      const layer = await sessions.get(name, () => layerForwardGraph({ ...kind, layer: index }, mode), { lowMemory });
      const { y, ...kept } = await layer.run({ ...inputs[index], ...parameters, x });
      if (gradient) layers.push({ x, kept: mode === "keep" ? kept : undefined });
      else discard([x]);
      x = floats(y);
    }
    return { batch, inputs, output: x, layers };
  };

  /** Runs a head graph over chunks of `headRows` rows. */
  const runHead = async (
    session: Session,
    pass: ForwardPass,
    { positions, targets }: HeadRows,
    coefficients: Float32Array | undefined,
    use: (outputs: Tensors, start: number, end: number) => void,
  ) => {
    for (let start = 0; start < positions.length; start += headRows) {
      throwIfStopped();
      const end = Math.min(positions.length, start + headRows);
      const feeds: Record<string, Tensor> = {
        ...tensors.head,
        x: rowsOf(pass.output.data, positions.subarray(start, end)),
        targets: tensor("int32", targets.subarray(start, end), [end - start, 1]),
      };
      if (coefficients) feeds["coefficients"] = tensor("float32", coefficients.subarray(start, end), [end - start, 1]);
      const outputs = await session.run(feeds);
      use(outputs, start, end);
      discard(Object.values(outputs));
    }
  };

  const score: Network["score"] = async (pass, rows, { entropy }) => {
    const count = rows.positions.length;
    const logprobs = new Float32Array(count);
    const entropies = new Float32Array(entropy ? count : 0);
    const session = await sessions.get(entropy ? "head, entropy" : "head", () => headForwardGraph(config, { entropy }));
    await runHead(session, pass, rows, undefined, (outputs, start) => {
      logprobs.set(floats(outputs["logprobs"]).data, start);
      if (entropy) entropies.set(floats(outputs["entropies"]).data, start);
    });
    return entropy ? { logprobs, entropies } : { logprobs };
  };

  const headBackward = async (
    pass: ForwardPass,
    rows: HeadRows,
    coefficients: Float32Array,
    gradients: Gradients,
  ): Promise<{ dy: Floats; logprobs: Float32Array }> => {
    const logprobs = new Float32Array(rows.positions.length);
    const dy = tensor("float32", new Float32Array(pass.output.data.length), pass.output.dims);
    const session = await sessions.get("head backward", () =>
      headBackwardGraph(config, { trainsWeights: trainsAllWeights }),
    );
    await runHead(session, pass, rows, coefficients, (outputs, start, end) => {
      logprobs.set(floats(outputs["logprobs"]).data, start);
      scatterRows(dy.data, floats(outputs["dx"]).data, rows.positions.subarray(start, end), hiddenSize);
      if (!trainsAllWeights) return;
      gradients.add(tensors.headName, floats(outputs["d.head"]).data);
      gradients.add("final_norm", floats(outputs["d.final_norm"]).data);
    });
    return { dy, logprobs };
  };

  const backward: Network["backward"] = async (pass, rows, coefficients, gradients) => {
    const head = await headBackward(pass, rows, coefficients, gradients);
    discard([pass.output]);
    let { dy } = head;
    for (let layer = config.layers - 1; layer >= 0; layer--) {
      throwIfStopped();
      const step = pass.layers.pop();
      if (!step) throw new TypeError("the forward pass ran without gradients or has been consumed");
      const mode = step.kept ? "keep" : "blocks";
      const build = () => layerBackwardGraph({ ...kind, layer }, mode);
      const session = await sessions.get(`backward, ${mode}${formOf(layer)}`, build, { lowMemory: !step.kept });
      const { dx, ...outputs } = await session.run({
        ...pass.inputs[layer],
        ...tensors.layers[layer],
        ...step.kept,
        x: step.x,
        dy,
      });
      for (const { name } of tensors.layerParameters[layer]!) {
        const gradient = outputs[`d.${name}`];
        if (gradient) gradients.add(`layers.${layer}.${name}`, floats(gradient).data);
      }
      discard([step.x, dy, ...Object.values(step.kept ?? {}), ...Object.values(outputs)]);
      dy = floats(dx);
    }
    scaleBy(dy.data, embeddingScale);
    if (trainsAllWeights) gradients.addRows("embedding", dy.data, pass.batch.tokens);
    discard([dy]);
    return { logprobs: head.logprobs };
  };

  return { forward, score, backward, close: () => sessions.close() };
}

/** Opens sessions on first use: a trainer that never scores has no scoring session. */
function sessionCache(
  threads: number,
  reuseArenas = true,
): {
  get(name: string, build: () => Uint8Array, options?: { lowMemory: boolean }): Promise<Session>;
  close(): Promise<void>;
} {
  const sessions = new Map<string, Session>();
  return {
    async get(name, build, { lowMemory } = { lowMemory: false }) {
      const known = sessions.get(name);
      if (known) return known;
      const opened = await openSession(build(), { threads, reuseArena: reuseArenas && !lowMemory });
      sessions.set(name, opened);
      return opened;
    },
    async close() {
      const all = [...sessions.values()];
      sessions.clear();
      for (const session of all) await session.release();
    },
  };
}

function floats(output: Tensor | undefined): Floats {
  if (output?.type !== "float32") throw new TypeError("the graph output is not a float32 tensor");
  return output as Floats;
}

function gatherRows(table: Float32Array, rows: Int32Array, width: number): Float32Array {
  const gathered = new Float32Array(rows.length * width);
  rows.forEach((row, i) => gathered.set(table.subarray(row * width, (row + 1) * width), i * width));
  return gathered;
}

function scaleBy(values: Float32Array, factor: number): void {
  if (factor === 1) return;
  for (let i = 0; i < values.length; i++) values[i]! *= factor;
}

function scatterRows(into: Float32Array, values: Float32Array, rows: Int32Array, width: number): void {
  rows.forEach((row, i) => into.set(values.subarray(i * width, (i + 1) * width), row * width));
}
