import { isLinearLayer, linearStateSize } from "../model/layer-kinds.js";
import { Graph } from "../graph/onnx.js";
import type { GraphVariant } from "./block.js";
import { buildBlocks } from "./block.js";
import { declareKindInputs } from "./kind-inputs.js";
import { linearSequence } from "./linear-steps.js";

/**
 * Builds the prefill of one prompt chunk: S tokens that attend to M cached positions before them and, causally, to each
 * other.
 *
 * Inputs besides weights: `tokens` int32 [S]; `start` int64 [1], 0; those of `declareKindInputs`, with a mask [S, M + S] to add to
 * the scores;
 * `selected` int32 [N], the tokens whose successors are predicted; per layer `keys.<l>`, `values.<l>` [keyValueHeads,
 * M, headSize]. Outputs: `logits`, `probabilities` [N, vocabularySize]; `fresh` [2 * layers, keyValueHeads, S,
 * headSize], keys and values of a layer in sequence. Of layers of linear attention, which are counted apart, `state.<l>` and the output
 * `next.<l>` [size]; such models have no tokens for padding.
 *
 * It uses standard operators: com.microsoft.GroupQueryAttention requires head sizes that are multiples of 16 and cannot
 * return the new keys alone. Most of the time is spent in the products with the weights, not in attention.
 */
export function prefillGraph(variant: GraphVariant): Uint8Array<ArrayBuffer> {
  const { config } = variant;
  const { layers, heads, keyValueHeads, headSize, vocabularySize } = config;
  const group = heads / keyValueHeads;
  const graph = new Graph();
  const blocks = buildBlocks(graph, variant);
  const tokens = graph.input("tokens", ["S"], "int32");
  const start = graph.input("start", [1], "int64");
  const kindOf = declareKindInputs(graph, variant.config, { rows: "S", positions: start, mask: ["S", "T"] });
  const selected = graph.input("selected", ["N"], "int32");
  const own = graph.op("Shape", [tokens]);
  const all = graph.op("Shape", ["mask"], { start: 1, end: 2 });
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
  const grouped = graph.integers(keyValueHeads, -1, headSize);

  const fresh: string[] = [];
  let x = blocks.embed(tokens);
  let h = blocks.firstNorm(x);
  const next: string[] = [];
  const count = reshape(own, graph.constant(new BigInt64Array(), [0], "int64"));
  for (let layer = 0; layer < layers; layer++) {
    if (isLinearLayer(config, layer)) {
      const kept = graph.input(`state.${next.length}`, [linearStateSize(config)]);
      const mixed = linearSequence(graph, config, blocks.linearWeights(layer), { h, kept, count });
      next.push(mixed.next);
      ({ x, h } = blocks.finish(x, mixed.output, layer));
      continue;
    }
    const pastKeys = graph.input(`keys.${fresh.length / 2}`, [keyValueHeads, "M", headSize]);
    const pastValues = graph.input(`values.${fresh.length / 2}`, [keyValueHeads, "M", headSize]);
    const inputs = blocks.attentionInputs(h, layer);
    const { mask, rotateQuery, rotateKey } = kindOf[layer]!;
    const heading = (x: string, count: number, which: "query" | "key") =>
      transpose(blocks.headNorm(toHeads(x, count), which, layer), [0, 2, 1, 3]);
    const q = reshape(rotateQuery(heading(inputs.q, heads, "query")), grouped);
    const k = reshape(rotateKey(heading(inputs.k, keyValueHeads, "key")), grouped);
    const v = reshape(transpose(toHeads(inputs.v, keyValueHeads), [0, 2, 1, 3]), grouped);
    fresh.push(k, v);
    const times = (keys: string) => graph.op("com.microsoft.FusedMatMul", [q, keys], { transB: 1 });
    const scores = graph.op("Concat", [times(pastKeys), times(k)], { axis: 2 });
    const masked = graph.op("Add", [reshape(scores, byScore), mask]);
    const shares = blocks.shares(masked, layer, [keyValueHeads, group, 1, 1]);
    const parts = graph.ops("Split", [shares, lengths], { axis: 3 }, ["past", "own"]);
    const perGroup = (x: string, length: string) => reshape(x, shape(keyValueHeads, -1, length));
    const fromPast = graph.op("MatMul", [perGroup(parts.past, past), pastValues]);
    const fromOwn = graph.op("MatMul", [perGroup(parts.own, own), v]);
    const attended = reshape(graph.op("Add", [fromPast, fromOwn]), byHead);
    const flat = reshape(transpose(attended, [0, 2, 1, 3]), graph.integers(-1, heads * headSize));
    ({ x, h } = blocks.finish(x, flat, layer, inputs.gate));
  }
  const logits = blocks.logits(graph.op("Gather", [h, selected], { axis: 0 }));
  graph.output("logits", logits, ["N", vocabularySize]);
  graph.output("probabilities", graph.op("Softmax", [logits], { axis: -1 }), ["N", vocabularySize]);
  const joined = graph.op(
    "Concat",
    fresh.map((x) => graph.op("Unsqueeze", [x, graph.integers(0)])),
    { axis: 0 },
  );
  graph.output("fresh", joined, [fresh.length, keyValueHeads, "S", headSize]);
  next.forEach((state, at) => graph.output(`next.${at}`, state, [linearStateSize(config)]));
  return graph.build();
}
