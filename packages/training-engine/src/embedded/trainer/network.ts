import type { ModelConfig } from "../../model/config.js";
import type { AdapterConfig, ParameterSet } from "../../model/parameters.js";
import { headBackwardGraph, headForwardGraph } from "../graph/head.js";
import { keptNames, layerBackwardGraph, layerForwardGraph, layerParameters } from "../graph/layer.js";
import { openSession, tensor, type Session, type Tensor } from "../session.js";
import { addInto } from "./arithmetic.js";
import { batchInputs } from "./batch-inputs.js";

type Tensors = Readonly<Record<string, Tensor>>;
type Floats = Tensor<"float32">;

export interface NetworkSettings {
  config: ModelConfig;
  weights: ParameterSet;
  adapter?: { config: AdapterConfig; set: ParameterSet };
  /** Logits are held for this many rows at a time. */
  headRows: number;
}

/** Sequences side by side: `tokens` [rows, time], padded at the end with any token. */
export interface TokenBatch {
  tokens: Int32Array;
  rows: number;
  time: number;
}

/** `score`: there will be no way back. `keep`: all that the way back needs. `recompute`: inputs of layers only. */
export type ForwardMode = "score" | "keep" | "recompute";

export interface ForwardPass {
  batch: TokenBatch;
  inputs: Tensors;
  /** The residual stream after the last layer: [rows * time, hidden]. */
  output: Floats;
  layers: { x: Floats; kept: Tensors | undefined }[];
}

/** Positions (row * time + place) whose next token is looked at, in order, and those tokens. */
export interface HeadRows {
  positions: Int32Array;
  targets: Int32Array;
}

export interface HeadResult {
  logprobs: Float32Array;
  /** In nats, when asked for. */
  entropies?: Float32Array;
}

/**
 * A model as sessions of onnxruntime, one for each kind of graph. It reads weights where they lie, so an optimizer may change
 * them in place. Results depend on weights, tokens and the shape of the batch alone.
 */
export interface Network {
  forward(batch: TokenBatch, mode: ForwardMode): Promise<ForwardPass>;
  score(pass: ForwardPass, rows: HeadRows, options: { entropy: boolean }): Promise<HeadResult>;
  /**
   * Adds the gradient to `gradients`, which has the parameters of the adapter when there is one. `coefficients` are the
   * derivatives of the loss by each row's log-probability; those are given back.
   */
  backward(pass: ForwardPass, rows: HeadRows, coefficients: Float32Array, gradients: ParameterSet): Promise<HeadResult>;
  close(): Promise<void>;
}

export async function openNetwork(settings: NetworkSettings): Promise<Network> {
  const { config, weights, adapter } = settings;
  const { hiddenSize } = config;
  const kind = { config, adapter: adapter?.config };
  const sessions = new Map<string, Promise<Session>>();
  const session = (name: string, build: () => Uint8Array): Promise<Session> => {
    const known = sessions.get(name);
    if (known) return known;
    const opened = openSession(build(), { threads: 1 });
    sessions.set(name, opened);
    return opened;
  };
  // The first session loads the library, which tensors need.
  await session("score", () => layerForwardGraph(kind, { keep: false }));
  const inputsOf = batchInputs(config);
  const kept = keptNames(config);
  const names = layerParameters(kind);
  const layerWeights = Array.from({ length: config.layers }, (_, layer) =>
    Object.fromEntries(
      names.map(({ name, shape }) => {
        const full = `layers.${layer}.${name}`;
        return [name, tensor("float32", view(adapter?.set.views.has(full) ? adapter.set : weights, full), shape)];
      }),
    ),
  );
  const headWeights = {
    final_norm: tensor("float32", view(weights, "final_norm"), [hiddenSize]),
    head: tensor("float32", view(weights, config.tiedEmbeddings ? "embedding" : "head"), [
      config.vocabularySize,
      hiddenSize,
    ]),
  };
  const embedding = view(weights, "embedding");

  const forward: Network["forward"] = async (batch, mode) => {
    const inputs = inputsOf(batch.rows, batch.time);
    const run = await (mode === "keep"
      ? session("keep", () => layerForwardGraph(kind, { keep: true }))
      : session("score", () => layerForwardGraph(kind, { keep: false })));
    let x = tensor("float32", gatherRows(embedding, batch.tokens, hiddenSize), [batch.tokens.length, hiddenSize]);
    const layers: ForwardPass["layers"] = [];
    for (const parameters of layerWeights) {
      const outputs = await run.run({ ...inputs, ...parameters, x }, mode === "keep" ? ["y", ...kept] : ["y"]);
      if (mode !== "score") layers.push({ x, kept: mode === "keep" ? outputs : undefined });
      x = floats(outputs, "y");
    }
    return { batch, inputs, output: x, layers };
  };

  const headInputs = (pass: ForwardPass, { positions, targets }: HeadRows, start: number, end: number) => ({
    ...headWeights,
    x: tensor("float32", gatherRows(pass.output.data, positions.subarray(start, end), hiddenSize), [
      end - start,
      hiddenSize,
    ]),
    targets: tensor("int32", targets.slice(start, end), [end - start, 1]),
  });

  const score: Network["score"] = async (pass, rows, { entropy }) => {
    const count = rows.positions.length;
    const result: Required<HeadResult> = { logprobs: new Float32Array(count), entropies: new Float32Array(count) };
    const run = await session(`head ${entropy}`, () => headForwardGraph(config, { entropy }));
    for (let start = 0; start < count; start += settings.headRows) {
      const end = Math.min(count, start + settings.headRows);
      const outputs = await run.run(headInputs(pass, rows, start, end));
      result.logprobs.set(floats(outputs, "logprobs").data, start);
      if (entropy) result.entropies.set(floats(outputs, "entropies").data, start);
    }
    return entropy ? result : { logprobs: result.logprobs };
  };

  const backward: Network["backward"] = async (pass, rows, coefficients, gradients) => {
    const count = rows.positions.length;
    const logprobs = new Float32Array(count);
    const learns = !adapter;
    const head = await session("head backward", () => headBackwardGraph(config, { learns }));
    let dy = tensor("float32", new Float32Array(pass.output.data.length), pass.output.dims);
    for (let start = 0; start < count; start += settings.headRows) {
      const end = Math.min(count, start + settings.headRows);
      const outputs = await head.run({
        ...headInputs(pass, rows, start, end),
        coefficients: tensor("float32", coefficients.slice(start, end), [end - start, 1]),
      });
      logprobs.set(floats(outputs, "logprobs").data, start);
      scatterRows(dy.data, floats(outputs, "dx").data, rows.positions.subarray(start, end), hiddenSize);
      if (!learns) continue;
      addInto(view(gradients, config.tiedEmbeddings ? "embedding" : "head"), floats(outputs, "d.head").data);
      addInto(view(gradients, "final_norm"), floats(outputs, "d.final_norm").data);
    }
    const keeps = pass.layers[0]?.kept !== undefined;
    const run = await session(`backward ${keeps}`, () => layerBackwardGraph(kind, { kept: keeps }));
    for (let layer = config.layers - 1; layer >= 0; layer--) {
      const step = pass.layers.pop();
      if (!step) break;
      const outputs = await run.run({ ...pass.inputs, ...layerWeights[layer], ...step.kept, x: step.x, dy });
      for (const { name } of names) {
        const gradient = outputs[`d.${name}`];
        if (gradient) addInto(view(gradients, `layers.${layer}.${name}`), floats(outputs, `d.${name}`).data);
      }
      dy = floats(outputs, "dx");
    }
    if (learns) addRows(view(gradients, "embedding"), dy.data, pass.batch.tokens, hiddenSize);
    return { logprobs };
  };

  const close = async () => {
    const open = await Promise.allSettled(sessions.values());
    sessions.clear();
    for (const each of open) if (each.status === "fulfilled") await each.value.release();
  };
  return { forward, score, backward, close };
}

function view(set: ParameterSet, name: string): Float32Array {
  const found = set.views.get(name);
  if (!found) throw new TypeError(`the parameters have no ${name}`);
  return found;
}

function floats(outputs: Tensors, name: string): Floats {
  const found = outputs[name];
  if (found?.type !== "float32") throw new TypeError(`the graph gave no ${name}`);
  return found as Floats;
}

function gatherRows(table: Float32Array, rows: Int32Array, width: number): Float32Array {
  const gathered = new Float32Array(rows.length * width);
  rows.forEach((row, i) => gathered.set(table.subarray(row * width, (row + 1) * width), i * width));
  return gathered;
}

function scatterRows(into: Float32Array, values: Float32Array, rows: Int32Array, width: number): void {
  rows.forEach((row, i) => into.set(values.subarray(i * width, (i + 1) * width), row * width));
}

/** Adds row i of `values` to row `rows[i]`, in order. */
function addRows(into: Float32Array, values: Float32Array, rows: Int32Array, width: number): void {
  for (let i = 0; i < rows.length; i++) {
    const start = rows[i]! * width;
    for (let j = 0; j < width; j++) into[start + j]! += values[i * width + j]!;
  }
}
