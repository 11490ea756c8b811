import { Graph } from "../graph/onnx.js";
import type { GraphVariant } from "./block.js";
import { buildBlocks } from "./block.js";

/**
 * Builds the prefill of one prompt chunk: S tokens that attend to M cached positions before them and, causally, to each
 * other.
 *
 * Inputs besides weights: `tokens` int32 [S]; `start` int64 [1], 0; `cos`, `sin` [S, headSize / 2] of the tokens'
 * positions and `query_cos`, `query_sin`, the same times 1 / sqrt(headSize); `mask` [S, M + S] to add to the scores;
 * `selected` int32 [N], the tokens whose successors are predicted; per layer `keys.<l>`, `values.<l>` [keyValueHeads,
 * M, headSize]. Outputs: `logits`, `probabilities` [N, vocabularySize]; `fresh` [2 * layers, keyValueHeads, S,
 * headSize], keys and values of a layer in sequence.
 *
 * It uses standard operators: com.microsoft.GroupQueryAttention requires head sizes that are multiples of 16 and cannot
 * return the new keys alone. Most of the time is spent in the products with the weights, not in attention.
 */
export function prefillGraph(variant: GraphVariant): Uint8Array<ArrayBuffer> {
  const { layers, heads, keyValueHeads, headSize, vocabularySize } = variant.config;
  const group = heads / keyValueHeads;
  const half = headSize / 2;
  const graph = new Graph();
  const blocks = buildBlocks(graph, variant);
  const tokens = graph.input("tokens", ["S"], "int32");
  const start = graph.input("start", [1], "int64");
  const [cos, sin] = [graph.input("cos", ["S", half]), graph.input("sin", ["S", half])];
  const [queryCos, querySin] = [graph.input("query_cos", ["S", half]), graph.input("query_sin", ["S", half])];
  const mask = graph.input("mask", ["S", "T"]);
  const selected = graph.input("selected", ["N"], "int32");
  const own = graph.op("Shape", [tokens]);
  const all = graph.op("Shape", [mask], { start: 1, end: 2 });
  const past = graph.op("Sub", [all, own]);
  const lengths = graph.op("Concat", [past, own], { axis: 0 });
  const shape = (...parts: (number | string)[]) =>
    graph.op(
      "Concat",
      parts.map((part) => (typeof part === "number" ? graph.integers(part) : part)),
      { axis: 0 },
    );
  const byScore = shape(keyValueHeads, group, own, all);
  const byHead = shape(1, heads, own, headSize);

  const transpose = (x: string, perm: number[]) => graph.op("Transpose", [x], { perm });
  const reshape = (x: string, to: string) => graph.op("Reshape", [x, to]);
  const toHeads = (x: string, count: number) => reshape(x, graph.integers(1, -1, count, headSize));
  const rotate = (x: string, cos: string, sin: string) =>
    graph.op("com.microsoft.RotaryEmbedding", [transpose(x, [0, 2, 1, 3]), start, cos, sin], { interleaved: 0 });
  const grouped = graph.integers(keyValueHeads, -1, headSize);

  const fresh: string[] = [];
  let x = blocks.embed(tokens);
  let h = blocks.firstNorm(x);
  for (let layer = 0; layer < layers; layer++) {
    const pastKeys = graph.input(`keys.${layer}`, [keyValueHeads, "M", headSize]);
    const pastValues = graph.input(`values.${layer}`, [keyValueHeads, "M", headSize]);
    const inputs = blocks.attentionInputs(h, layer);
    const q = reshape(rotate(blocks.headNorm(toHeads(inputs.q, heads), "query", layer), queryCos, querySin), grouped);
    const turned = rotate(blocks.headNorm(toHeads(inputs.k, keyValueHeads), "key", layer), cos, sin);
    const k = reshape(turned, grouped);
    const v = reshape(transpose(toHeads(inputs.v, keyValueHeads), [0, 2, 1, 3]), grouped);
    fresh.push(k, v);
    const times = (keys: string) => graph.op("com.microsoft.FusedMatMul", [q, keys], { transB: 1 });
    const scores = graph.op("Concat", [times(pastKeys), times(k)], { axis: 2 });
    const shares = graph.op("Softmax", [graph.op("Add", [reshape(scores, byScore), mask])], { axis: -1 });
    const parts = graph.ops("Split", [shares, lengths], { axis: 3 }, ["past", "own"]);
    const perGroup = (x: string, length: string) => reshape(x, shape(keyValueHeads, -1, length));
    const fromPast = graph.op("MatMul", [perGroup(parts.past, past), pastValues]);
    const fromOwn = graph.op("MatMul", [perGroup(parts.own, own), v]);
    const attended = reshape(graph.op("Add", [fromPast, fromOwn]), byHead);
    const flat = reshape(transpose(attended, [0, 2, 1, 3]), graph.integers(-1, heads * headSize));
    ({ x, h } = blocks.finish(x, flat, layer));
  }
  const logits = blocks.logits(graph.op("Gather", [h, selected], { axis: 0 }));
  graph.output("logits", logits, ["N", vocabularySize]);
  graph.output("probabilities", graph.op("Softmax", [logits], { axis: -1 }), ["N", vocabularySize]);
  const joined = graph.op(
    "Concat",
    fresh.map((x) => graph.op("Unsqueeze", [x, graph.integers(0)])),
    { axis: 0 },
  );
  graph.output("fresh", joined, [2 * layers, keyValueHeads, "S", headSize]);
  return graph.build();
}
