/** A variable of a differentiated computation: its index on the tape. */
export type Scalar = number;

/**
 * Scalar reverse-mode differentiation in double precision: every operation records its two operands and the
 * derivatives by them. Slow and simple. With `round`, every result is rounded, as in another precision.
 */
export class Tape {
  readonly #round: (value: number) => number;
  readonly values: number[] = [];
  readonly #left: Scalar[] = [];
  readonly #leftSlope: number[] = [];
  readonly #right: Scalar[] = [];
  readonly #rightSlope: number[] = [];

  constructor(round = (value: number): number => value) {
    this.#round = round;
  }

  constant(value: number): Scalar {
    return this.#push(value, 0, 0, 0, 0);
  }

  constants(values: ArrayLike<number>): Scalar[] {
    return Array.from(values, (value) => this.constant(value));
  }

  add(a: Scalar, b: Scalar): Scalar {
    return this.#push(this.values[a]! + this.values[b]!, a, 1, b, 1);
  }

  multiply(a: Scalar, b: Scalar): Scalar {
    const left = this.values[a]!;
    const right = this.values[b]!;
    return this.#push(left * right, a, right, b, left);
  }

  /** factor a + shift */
  scale(a: Scalar, factor: number, shift = 0): Scalar {
    return this.#push(factor * this.values[a]! + shift, a, factor, 0, 0);
  }

  power(a: Scalar, exponent: number): Scalar {
    const value = this.values[a]!;
    return this.#push(value ** exponent, a, exponent * value ** (exponent - 1), 0, 0);
  }

  exp(a: Scalar): Scalar {
    const value = Math.exp(this.values[a]!);
    return this.#push(value, a, value, 0, 0);
  }

  log(a: Scalar): Scalar {
    const value = this.values[a]!;
    return this.#push(Math.log(value), a, 1 / value, 0, 0);
  }

  sum(all: Scalar[]): Scalar {
    return all.length === 0 ? this.constant(0) : all.reduce((a, b) => this.add(a, b));
  }

  /** Derivatives of one number by every number before it. */
  gradient(of: Scalar): Float64Array {
    const slopes = new Float64Array(this.values.length);
    slopes[of] = 1;
    for (let i = of; i >= 0; i--) {
      const slope = slopes[i]!;
      if (slope === 0) continue;
      for (const [operand, factor] of [
        [this.#left[i]!, this.#leftSlope[i]!],
        [this.#right[i]!, this.#rightSlope[i]!],
      ] as const) {
        slopes[operand] = this.#round(slopes[operand]! + this.#round(slope * factor));
      }
    }
    return slopes;
  }

  #push(value: number, a: Scalar, slopeA: number, b: Scalar, slopeB: number): Scalar {
    this.#left.push(a);
    this.#leftSlope.push(this.#round(slopeA));
    this.#right.push(b);
    this.#rightSlope.push(this.#round(slopeB));
    return this.values.push(this.#round(value)) - 1;
  }
}
