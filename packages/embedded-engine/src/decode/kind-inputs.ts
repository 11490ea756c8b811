import type { ModelConfig } from "../model/config.js";
import { layerKindsOf, rotatesWholeHeads, rotaryWidth, scoreScale } from "../model/layer-kinds.js";
import type { Dimension, Graph, TensorName } from "../graph/onnx.js";
import { rotated } from "../graph/rotated.js";

/** Inputs of a decode or prefill graph that the layers of a kind share. */
export interface KindInputs {
  mask: TensorName;
  rotateQuery: (query: TensorName) => TensorName;
  rotateKey: (key: TensorName) => TensorName;
}

const names = ["mask", "cos", "sin", "query_cos", "query_sin"] as const;

/** Name of an input of the kind of this index. */
export function kindInput(name: (typeof names)[number], kind: number): string {
  return kind === 0 ? name : `${name}.${kind}`;
}

/**
 * Declares the inputs of every kind of layer: `cos`, `sin` [rows, width / 2] of each row's position, `query_cos`, `query_sin`, the
 * same times the scale of the scores, and `mask`. Returns those of each layer. Heads are [batch, heads, time, head].
 */
export function declareKindInputs(
  graph: Graph,
  config: ModelConfig,
  { rows, positions, mask: maskShape }: { rows: Dimension; positions: TensorName; mask: Dimension[] },
): KindInputs[] {
  const half = rotaryWidth(config) / 2;
  const { kinds, ofLayer } = layerKindsOf(config);
  const inputs = kinds.map((_, index): KindInputs => {
    const mask = graph.input(kindInput("mask", index), maskShape);
    const angles = (name: "cos" | "sin" | "query_cos" | "query_sin") =>
      graph.input(kindInput(name, index), [rows, half]);
    const [cos, sin] = [angles("cos"), angles("sin")];
    const [queryCos, querySin] = [angles("query_cos"), angles("query_sin")];
    return {
      mask,
      rotateQuery: (query) => {
        const turned = rotated(graph, config, "query", [query, positions, queryCos, querySin]);
        return rotatesWholeHeads(config) ? turned : graph.op("Mul", [turned, graph.scalar(scoreScale(config))]);
      },
      rotateKey: (key) => rotated(graph, config, "key", [key, positions, cos, sin]),
    };
  });
  return ofLayer.map((kind) => inputs[kind]!);
}
