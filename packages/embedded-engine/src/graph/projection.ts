import type { LoraConfig, LoraTarget } from "@heddle/training";
import type { LayerContext } from "./layer-context.js";
import { recordGradient } from "./layer-context.js";
import type { Graph, TensorName } from "./onnx.js";
import { add, joinColumns, splitColumns, sumOver, matMul, matMulTransposed, transposedMatMul } from "./operators.js";

/** One multiplication by a matrix that concatenates projections along its columns. */
export interface Projection<Target extends LoraTarget> {
  weight: string;
  bias?: string;
  /** Output width of each projection, in column order. */
  widths: Readonly<Record<Target, number>>;
}

type Outputs<Target extends LoraTarget> = Record<Target, TensorName>;

/** Computes `x W + bias`, plus `(alpha / rank) (x A) B` for adapted targets. */
export function project<Target extends LoraTarget>(
  context: LayerContext,
  { weight, bias, widths }: Projection<Target>,
  x: TensorName,
): Outputs<Target> {
  const { graph, adapter } = context;
  const targets = targetsOf(widths);
  const product = matMul(graph, x, weight);
  const joined = bias === undefined ? product : add(graph, product, bias);
  const outputs = splitOutputs(graph, joined, widths);
  for (const target of targets.filter((each) => adapter?.targets.includes(each))) {
    const low = matMul(graph, x, `${target}.a`);
    const change = graph.op("com.microsoft.FusedMatMul", [low, `${target}.b`], {
      alpha: { float: adapterScale(adapter) },
    });
    outputs[target] = add(graph, outputs[target], change);
  }
  return outputs;
}

/**
 * Returns the gradient of `x`, given the gradients of the projections. Records the gradients of the trained weights.
 */
export function projectBackward<Target extends LoraTarget>(
  context: LayerContext,
  { weight, bias, widths }: Projection<Target>,
  x: TensorName,
  gradients: Outputs<Target>,
): TensorName {
  const { graph, adapter } = context;
  const targets = targetsOf(widths);
  const [only, ...more] = targets.map((target) => gradients[target]);
  const joined =
    only !== undefined && more.length === 0
      ? only
      : joinColumns(
          graph,
          targets.map((t) => gradients[t]),
        );
  recordGradient(context, weight, () => transposedMatMul(graph, x, joined));
  if (bias !== undefined) recordGradient(context, bias, () => sumOver(graph, joined, [0]));
  let dx = matMulTransposed(graph, joined, weight);
  for (const target of targets.filter((each) => adapter?.targets.includes(each))) {
    const scale = adapterScale(adapter);
    const low = matMul(graph, x, `${target}.a`);
    const dlow = matMulTransposed(graph, gradients[target], `${target}.b`, { scale });
    context.gradients.set(`${target}.a`, transposedMatMul(graph, x, dlow));
    context.gradients.set(`${target}.b`, transposedMatMul(graph, low, gradients[target], { scale }));
    dx = matMulTransposed(graph, dlow, `${target}.a`, { sum: dx });
  }
  return dx;
}

function targetsOf<Target extends LoraTarget>(widths: Readonly<Record<Target, number>>): Target[] {
  return Object.keys(widths) as Target[];
}

function splitOutputs<Target extends LoraTarget>(
  graph: Graph,
  joined: TensorName,
  widths: Readonly<Record<Target, number>>,
): Outputs<Target> {
  const targets = targetsOf(widths);
  if (targets.length > 1) return splitColumns(graph, joined, widths);
  return Object.fromEntries(targets.map((target) => [target, joined])) as Outputs<Target>;
}

function adapterScale(adapter: LoraConfig | undefined): number {
  return adapter ? adapter.alpha / adapter.rank : 0;
}
