export function sigmoid(x: number): number {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

/** log σ(x), also where σ(x) rounds to 0. */
export function logSigmoid(x: number): number {
  return Math.min(0, x) - Math.log1p(Math.exp(-Math.abs(x)));
}
