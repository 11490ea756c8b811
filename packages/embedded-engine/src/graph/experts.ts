import type { ModelConfig, Experts } from "../model/config.js";
import { differentiatedProduct, gatedProduct } from "./activation.js";
import type { Graph, TensorName } from "./onnx.js";
import { add, batchedMatMul, matMul, multiply, reshape, splitColumns, subtract, sumOver } from "./operators.js";

// A mixture of experts: a router chooses a few experts for every token, and the result is the sum of theirs, by its weights. A loop
// goes over all experts, each of which computes the tokens that chose it. A shared expert computes all tokens. Experts are frozen: only
// what reads the stream before them has gradients.

/** Weights of the block, as graph values. */
export interface ExpertWeights {
  /** [hidden, experts] */
  router: TensorName;
  /** [experts, hidden, 2 width] */
  gateUp: TensorName;
  /** [experts, width, hidden] */
  down: TensorName;
  /** Of the three, each by expert. Absent: none. */
  biases?: { router: TensorName; gateUp: TensorName; down: TensorName };
  /** Of the expert that computes every token: [hidden, 2 width], [width, hidden] and, of its weight, [hidden, 1]. Absent: none. */
  shared?: { gateUp: TensorName; down: TensorName; weight: TensorName };
}

/** Returns the weights of the block by the names of their parameters. */
export function namedExpertWeights(config: ModelConfig, weight: (name: string) => TensorName): ExpertWeights {
  const { hasBiases, sharedWidth } = expertsOf(config);
  return {
    router: weight("router"),
    gateUp: weight("gate_up"),
    down: weight("down"),
    ...(hasBiases && {
      biases: { router: weight("router_bias"), gateUp: weight("gate_up_bias"), down: weight("down_bias") },
    }),
    ...(sharedWidth !== undefined && {
      shared: { gateUp: weight("shared_gate_up"), down: weight("shared_down"), weight: weight("shared_weight") },
    }),
  };
}

interface Routing {
  /** Probability of each expert for each token: [tokens, experts]. */
  probabilities: TensorName;
  /** 1 where a token chose an expert, else 0. */
  chosen: TensorName;
  /** Sum of the probabilities of the experts that a token chose: [tokens, 1]. */
  total: TensorName;
  /** Weight of each expert for each token; 0 of those that it did not choose. */
  shares: TensorName;
}

/** Computes the block for `x` [tokens, hidden]. */
export function expertsForward(graph: Graph, config: ModelConfig, weights: ExpertWeights, x: TensorName): TensorName {
  const { shares } = route(graph, expertsOf(config), weights, x);
  const zeros = graph.op("ConstantOfShape", [graph.op("Shape", [x])]);
  const { carried } = graph.loop(expertCount(graph, config), [zeros], (expert, [sum = ""]) => {
    const own = tokensOf(graph, expert, shares);
    const { gate, up, downward } = expertGate(graph, config, weights, expert, own.rows(x));
    const result = downward(gatedProduct(graph, config, gate, up));
    return { carried: [own.addTo(sum, multiply(graph, result, own.share))], collected: [] };
  });
  const sum = carried[0] ?? "";
  const shared = sharedExpert(graph, config, weights, x);
  return shared ? add(graph, sum, multiply(graph, shared.result, shared.share)) : sum;
}

/** Returns the gradient of `x`, given that of the result. */
export function expertsBackward(
  graph: Graph,
  config: ModelConfig,
  weights: ExpertWeights,
  { x, doutput }: { x: TensorName; doutput: TensorName },
): TensorName {
  const routing = route(graph, expertsOf(config), weights, x);
  const zeros = graph.op("ConstantOfShape", [graph.op("Shape", [x])]);
  const noShares = graph.op("ConstantOfShape", [graph.op("Shape", [x], { start: 0, end: 1 })]);
  const { carried, collected } = graph.loop(expertCount(graph, config), [zeros], (expert, [dsum = ""]) => {
    const own = tokensOf(graph, expert, routing.shares);
    const { gate, up, gateUp, down, downward } = expertGate(graph, config, weights, expert, own.rows(x));
    const { product, gradients } = differentiatedProduct(graph, config, gate, up);
    const dresult = own.rows(doutput);
    const dshare = sumOver(graph, multiply(graph, dresult, downward(product)), [1]);
    const dproduct = batchedMatMul(graph, multiply(graph, dresult, own.share), down, { transposeB: true });
    const { dgate, dup } = gradients(dproduct);
    const dgateUp = graph.op("Concat", [dgate, dup], { axis: 1 });
    const dx = batchedMatMul(graph, dgateUp, gateUp, { transposeB: true });
    return { carried: [own.addTo(dsum, dx)], collected: [own.addTo(noShares, dshare)] };
  });
  const dshares = graph.op("Transpose", [collected[0] ?? ""], { perm: [1, 0] });
  const dx = add(graph, carried[0] ?? "", routerBackward(graph, expertsOf(config), weights, routing, dshares));
  const shared = sharedExpert(graph, config, weights, x);
  return shared ? add(graph, dx, shared.backward(doutput)) : dx;
}

/** The expert that computes every token: what it computes and its weight, whose product is added to the sum. */
function sharedExpert(graph: Graph, config: ModelConfig, { shared }: ExpertWeights, x: TensorName) {
  const { sharedWidth: width } = expertsOf(config);
  if (!shared || width === undefined) return undefined;
  const share = graph.op("Sigmoid", [matMul(graph, x, shared.weight)]);
  const { gate, up } = splitColumns(graph, matMul(graph, x, shared.gateUp), { gate: width, up: width });
  const result = matMul(graph, gatedProduct(graph, config, gate, up), shared.down);
  const transposed = (gradient: TensorName, weight: TensorName) =>
    batchedMatMul(graph, gradient, weight, { transposeB: true });
  const backward = (doutput: TensorName): TensorName => {
    const { gradients } = differentiatedProduct(graph, config, gate, up);
    const { dgate, dup } = gradients(transposed(multiply(graph, doutput, share), shared.down));
    const dshare = sumOver(graph, multiply(graph, doutput, result), [1], { keep: true });
    const slope = multiply(graph, share, subtract(graph, graph.scalar(1), share));
    return add(
      graph,
      transposed(graph.op("Concat", [dgate, dup], { axis: 1 }), shared.gateUp),
      transposed(multiply(graph, dshare, slope), shared.weight),
    );
  };
  return { result, share, backward };
}

function route(graph: Graph, experts: Experts, { router, biases }: ExpertWeights, x: TensorName): Routing {
  const product = matMul(graph, x, router);
  const logits = biases ? add(graph, product, biases.router) : product;
  const probabilities = graph.op("Softmax", [logits], { axis: -1 });
  const { indices } = graph.ops(
    "TopK",
    [probabilities, graph.integers(experts.perToken)],
    { axis: -1, largest: 1, sorted: 1 },
    ["values", "indices"],
  );
  const none = graph.op("ConstantOfShape", [graph.op("Shape", [probabilities])]);
  const ones = graph.op("Expand", [graph.scalar(1), graph.op("Shape", [indices])]);
  const chosen = graph.op("ScatterElements", [none, indices, ones], { axis: 1 });
  const kept = multiply(graph, probabilities, chosen);
  const total = sumOver(graph, kept, [1], { keep: true });
  return { probabilities, chosen, total, shares: experts.sharesSumToOne ? graph.op("Div", [kept, total]) : kept };
}

/**
 * With s = p m / sum(p m), where m chooses: dp = m (ds - sum(ds s)) / sum(p m), or m ds where shares are not divided. Then the
 * gradient of the softmax: p (dp - sum(dp p)).
 */
function routerBackward(
  graph: Graph,
  experts: Experts,
  { router }: ExpertWeights,
  { probabilities, chosen, total, shares }: Routing,
  dshares: TensorName,
): TensorName {
  const centred = (gradient: TensorName, by: TensorName) =>
    subtract(graph, gradient, sumOver(graph, multiply(graph, gradient, by), [1], { keep: true }));
  const divided = experts.sharesSumToOne ? graph.op("Div", [centred(dshares, shares), total]) : dshares;
  const dlogits = multiply(graph, probabilities, centred(multiply(graph, divided, chosen), probabilities));
  return batchedMatMul(graph, dlogits, router, { transposeB: true });
}

/** The tokens that chose an expert. */
function tokensOf(graph: Graph, expert: TensorName, shares: TensorName) {
  const share = graph.op("Gather", [shares, expert], { axis: 1 });
  const indices = reshape(graph, graph.op("NonZero", [share]), graph.integers(-1));
  const rows = (values: TensorName) => graph.op("Gather", [values, indices], { axis: 0 });
  const places = graph.op("Unsqueeze", [indices, graph.integers(1)]);
  return {
    rows,
    share: graph.op("Unsqueeze", [rows(share), graph.integers(1)]),
    addTo: (sum: TensorName, values: TensorName) => graph.op("ScatterND", [sum, places, values], { reduction: "add" }),
  };
}

function expertGate(graph: Graph, config: ModelConfig, weights: ExpertWeights, expert: TensorName, x: TensorName) {
  const own = (all: TensorName) => graph.op("Gather", [all, expert], { axis: 0 });
  const [gateUp, down] = [own(weights.gateUp), own(weights.down)];
  const { biases } = weights;
  const biased = (product: TensorName, bias: TensorName | undefined) =>
    bias === undefined ? product : add(graph, product, own(bias));
  const width = config.feedForwardSize;
  const both = biased(matMul(graph, x, gateUp), biases?.gateUp);
  const { gate, up } = splitColumns(graph, both, { gate: width, up: width });
  const downward = (product: TensorName) => biased(matMul(graph, product, down), biases?.down);
  return { gate, up, gateUp, down, downward };
}

function expertCount(graph: Graph, config: ModelConfig): TensorName {
  return graph.constant(BigInt64Array.of(BigInt(expertsOf(config).count)), [], "int64");
}

function expertsOf({ experts }: ModelConfig): Experts {
  if (!experts) throw new TypeError("the model has no experts");
  return experts;
}
