import { isLinearLayer, linearStateSize } from "../model/layer-kinds.js";
import { Graph } from "../graph/onnx.js";
import type { GraphVariant } from "./block.js";
import { buildBlocks } from "./block.js";
import { declareKindInputs } from "./kind-inputs.js";
import { linearStep } from "./linear-steps.js";

/**
 * Builds one decoding step: R rows, one new token each, attending to a cache of M positions outside the graph.
 *
 * Inputs besides weights: `tokens` int32 [R]; `rows` int64 [R, 1], 0..R-1; those of `declareKindInputs`, with a mask [R, 1, 1, M +
 * 1], 0 where a row attends (its last entry is the new token itself) and a large negative number at the others; per layer `keys.<l>`,
 * `values.<l>` [R, keyValueHeads, M, headSize]. Outputs: `logits` and `probabilities` [R, vocabularySize]; `fresh` [R,
 * keyValueHeads, 2 * layers, headSize], the new key and value of every layer: the binding copies outputs, so the caches
 * are not outputs. Layers of attention and of linear attention are counted apart; of each of the latter there are `state.<l>` and,
 * after the token, the output `next.<l>` [R, size].
 */
export function decodeGraph(variant: GraphVariant): Uint8Array<ArrayBuffer> {
  const { config } = variant;
  const { layers, heads, keyValueHeads, headSize, vocabularySize } = config;
  const group = heads / keyValueHeads;
  const graph = new Graph();
  const blocks = buildBlocks(graph, variant);
  const tokens = graph.input("tokens", ["R"], "int32");
  const rows = graph.input("rows", ["R", 1], "int64");
  const kindOf = declareKindInputs(graph, variant.config, { rows: "R", positions: rows, mask: ["R", 1, 1, "M1"] });
  const maskLength = graph.op("Shape", ["mask"], { start: 3, end: 4 });
  const split = graph.op("Concat", [graph.op("Sub", [maskLength, graph.integers(1)]), graph.integers(1)], { axis: 0 });
  const fresh: string[] = [];
  let x = blocks.embed(tokens);
  let h = blocks.firstNorm(x);
  const next: string[] = [];
  for (let layer = 0; layer < layers; layer++) {
    if (isLinearLayer(config, layer)) {
      const kept = graph.input(`state.${next.length}`, ["R", linearStateSize(config)]);
      const mixed = linearStep(graph, config, blocks.linearWeights(layer), { h, kept });
      next.push(mixed.next);
      ({ x, h } = blocks.finish(x, mixed.output, layer));
      continue;
    }
    const cache = ["R", keyValueHeads, "M", headSize];
    const pastKeys = graph.input(`keys.${fresh.length / 2}`, cache);
    const pastValues = graph.input(`values.${fresh.length / 2}`, cache);
    const inputs = blocks.attentionInputs(h, layer);
    const byHead = (x: string, count: number) => graph.op("Reshape", [x, graph.integers(-1, count, 1, headSize)]);
    const { mask, rotateQuery, rotateKey } = kindOf[layer]!;
    let q = rotateQuery(blocks.headNorm(byHead(inputs.q, heads), "query", layer));
    if (group > 1) q = graph.op("Reshape", [q, graph.integers(-1, keyValueHeads, group, headSize)]);
    const k = rotateKey(blocks.headNorm(byHead(inputs.k, keyValueHeads), "key", layer));
    const v = byHead(inputs.v, keyValueHeads);
    fresh.push(k, v);
    const times = (keys: string) => graph.op("com.microsoft.FusedMatMul", [q, keys], { transB: 1 });
    const scores = graph.op("Concat", [times(pastKeys), times(k)], { axis: 3 });
    const shares = blocks.shares(graph.op("Add", [scores, mask]), layer, [1, keyValueHeads, group, 1]);
    const { past, own } = graph.ops("Split", [shares, split], { axis: 3 }, ["past", "own"]);
    const attended = graph.op("Add", [graph.op("MatMul", [past, pastValues]), graph.op("Mul", [own, v])]);
    const flat = graph.op("Reshape", [attended, graph.integers(-1, heads * headSize)]);
    ({ x, h } = blocks.finish(x, flat, layer, inputs.gate));
  }
  const logits = blocks.logits(h);
  graph.output("logits", logits, ["R", vocabularySize]);
  graph.output("probabilities", graph.op("Softmax", [logits], { axis: -1 }), ["R", vocabularySize]);
  graph.output("fresh", graph.op("Concat", fresh, { axis: 2 }), ["R", keyValueHeads, fresh.length, headSize]);
  next.forEach((state, at) => graph.output(`next.${at}`, state, ["R", linearStateSize(config)]));
  return graph.build();
}
