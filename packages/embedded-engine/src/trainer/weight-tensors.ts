import type { LoraConfig } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import type { ModelParameter, ParameterSet } from "../model/parameters.js";
import { layerParameters } from "../graph/layer.js";
import type { Tensor } from "../session.js";
import { tensor } from "../session.js";

/** The weights of a model as graph inputs, sharing their memory. */
export interface WeightTensors {
  embedding: Float32Array;
  /** Parameters of each layer, named as within the layer. */
  layerParameters: ModelParameter[][];
  layers: Record<string, Tensor>[];
  head: Record<"final_norm" | "head", Tensor>;
  /** Name of the parameter that is the output head. */
  headName: "embedding" | "head";
}

export function weightTensors(
  config: ModelConfig,
  weights: ParameterSet,
  adapter?: { config: LoraConfig; set: ParameterSet },
): WeightTensors {
  const { layers, hiddenSize, vocabularySize, tiedEmbeddings } = config;
  const view = (name: string): Float32Array => {
    const found = adapter?.set.views.get(name) ?? weights.views.get(name);
    if (!found) throw new TypeError(`there is no parameter ${name}`);
    return found;
  };
  const parameters = Array.from({ length: layers }, (_, layer) =>
    layerParameters({ config, adapter: adapter?.config, layer }),
  );
  const headName = tiedEmbeddings ? "embedding" : "head";
  return {
    embedding: view("embedding"),
    layerParameters: parameters,
    layers: parameters.map((own, layer) =>
      Object.fromEntries(
        own.map(({ name, shape }) => [name, tensor("float32", view(`layers.${layer}.${name}`), shape)]),
      ),
    ),
    head: {
      final_norm: tensor("float32", view("final_norm"), [hiddenSize]),
      head: tensor("float32", view(headName), [vocabularySize, hiddenSize]),
    },
    headName,
  };
}
