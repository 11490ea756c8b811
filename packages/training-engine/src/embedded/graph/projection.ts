import type { AdapterConfig, AdapterTarget } from "../../model/parameters.js";
import { learn, type LayerContext } from "./layer-context.js";
import type { Graph, Value } from "./onnx.js";
import { add, joinColumns, splitColumns, sumOver, times, timesTransposed, transposedTimes } from "./operators.js";

/** One multiplication by a matrix in which projections lie side by side. */
export interface Projection<Target extends AdapterTarget> {
  weight: string;
  bias?: string;
  /** Outputs of each projection, in the order of the columns. */
  widths: Readonly<Record<Target, number>>;
}

type Outputs<Target extends AdapterTarget> = Record<Target, Value>;

/** `x W + bias`, and for adapted targets `+ (alpha / rank) (x A) B`. */
export function project<Target extends AdapterTarget>(
  context: LayerContext,
  { weight, bias, widths }: Projection<Target>,
  x: Value,
): Outputs<Target> {
  const { graph, adapter } = context;
  const targets = targetsOf(widths);
  const product = times(graph, x, weight);
  const joined = bias === undefined ? product : add(graph, product, bias);
  const outputs = cut(graph, joined, widths);
  for (const target of targets.filter((each) => adapter?.targets.includes(each))) {
    const low = times(graph, x, `${target}.a`);
    const change = graph.op("com.microsoft.FusedMatMul", [low, `${target}.b`], { alpha: { float: strength(adapter) } });
    outputs[target] = add(graph, outputs[target], change);
  }
  return outputs;
}

/** Gradient of `x` out of the gradients of the projections; notes those of the weights that learn. */
export function projectBackward<Target extends AdapterTarget>(
  context: LayerContext,
  { weight, bias, widths }: Projection<Target>,
  x: Value,
  gradients: Outputs<Target>,
): Value {
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
  learn(context, weight, () => transposedTimes(graph, x, joined));
  if (bias !== undefined) learn(context, bias, () => sumOver(graph, joined, [0]));
  let dx = timesTransposed(graph, joined, weight);
  for (const target of targets.filter((each) => adapter?.targets.includes(each))) {
    const scale = strength(adapter);
    const low = times(graph, x, `${target}.a`);
    const dlow = timesTransposed(graph, gradients[target], `${target}.b`, { scale });
    context.gradients.set(`${target}.a`, transposedTimes(graph, x, dlow));
    context.gradients.set(`${target}.b`, transposedTimes(graph, low, gradients[target], { scale }));
    dx = timesTransposed(graph, dlow, `${target}.a`, { sum: dx });
  }
  return dx;
}

function targetsOf<Target extends AdapterTarget>(widths: Readonly<Record<Target, number>>): Target[] {
  return Object.keys(widths) as Target[];
}

function cut<Target extends AdapterTarget>(
  graph: Graph,
  joined: Value,
  widths: Readonly<Record<Target, number>>,
): Outputs<Target> {
  const targets = targetsOf(widths);
  if (targets.length > 1) return splitColumns(graph, joined, widths);
  return Object.fromEntries(targets.map((target) => [target, joined])) as Outputs<Target>;
}

function strength(adapter: AdapterConfig | undefined): number {
  return adapter ? adapter.alpha / adapter.rank : 0;
}
