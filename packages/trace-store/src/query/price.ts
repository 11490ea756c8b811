import { HeddleError } from "@heddle/errors";
import { limits } from "@heddle/spec/tracing-limits";
import type { CallField, Expression, SortKey, TypedField } from "@heddle/trace-model";

// The engine plans a statement in one piece, at a cost that follows from the request and hardly from the data: it is
// known before any SQL is made. The numbers are those of the spec, measured by bench/query-price.ts.

const { price: maxPrice, prices } = limits.Query;

/** What the parts of a request cost, by the name of the part. */
export type Prices = Readonly<Record<string, number>>;

/** Throws `too_large`, with the dearest part as its loc, for a request that costs more than the limit. */
export function checkPrice(parts: Prices): void {
  const total = Object.values(parts).reduce((sum, price) => sum + price, 0);
  if (total <= maxPrice) return;
  const dearestFirst = Object.entries(parts).toSorted(([, a], [, b]) => b - a);
  const shares = dearestFirst.filter(([, price]) => price >= 1).map(([name, price]) => `${name} ${Math.ceil(price)}`);
  throw new HeddleError(
    "too_large",
    `the request costs ${Math.ceil(total)} (${shares.join(", ")}), more than the limit of ${maxPrice} for its price`,
    { loc: [dearestFirst[0]?.[0] ?? ""] },
  );
}

/** The price of an expression, of whose fields `priceOf` is the price. */
export function expressionPrice<F extends TypedField>(e: Expression<F>, priceOf: (field: F) => number): number {
  const price = (operand: Expression<F>) => expressionPrice(operand, priceOf);
  const { operator } = prices;
  switch (e.op) {
    case "and":
    case "or":
      return e.operands.reduce((sum, operand) => sum + operator + price(operand), operator);
    case "not":
    case "is_null":
      return operator + price(e.operand);
    case "in":
      return operator + (e.type === "int" ? 4 : 2) * price(e.operand) + prices.list_literal * e.values.length;
    case "contains":
      return operator + (e.substr.op === "literal" ? 1 : 2) * price(e.input) + price(e.substr);
    case "field":
      return priceOf(e.field);
    case "literal":
    case "time":
      return 0;
    case "integer":
      return operator + 3 * price(e.input);
    case "convert":
    case "size":
      return operator + 2 * price(e.input);
    default:
      return operator + price(e.left) + price(e.right);
  }
}

/** The price of looking a value up in a free document. */
export function pathPrice(path: readonly string[]): number {
  const positions = path.some((step) => /^\d+$/.test(step)) ? prices.list_positions : 0;
  return prices.document_field + prices.path_step * path.length + positions;
}

/** The price of an order, of whose fields `priceOf` is the price. */
export function sortPrice<F extends TypedField>(keys: readonly SortKey<F>[], priceOf: (field: F) => number): number {
  return keys.reduce((sum, { field }) => sum + sortKeyPrice(priceOf(field)), 0);
}

/** The price of one key, from that of its field: columns cost nothing. */
export function sortKeyPrice(field: number): number {
  return field === 0 ? 0 : prices.sort_key + field;
}

/** The refs on the way to a field, shallow ones first. */
export type RefsTo = (field: CallField) => readonly object[];

/** The prices of the fields of one request for calls: what several of them need is paid once. */
export class CallFieldPrices {
  readonly #refsTo: RefsTo;
  readonly #refs = new Map<object, number>();
  readonly #feedbackTypes = new Set<string>();

  constructor(refsTo: RefsTo) {
    this.#refsTo = refsTo;
  }

  /** Of the field by itself. */
  readonly of = (field: CallField): number => {
    if (field.kind === "feedback") {
      this.#feedbackTypes.add(field.feedback_type);
      return prices.feedback_field + prices.path_step * field.path.length;
    }
    if (field.kind !== "json") return 0;
    const refs = this.#refsTo(field);
    for (const [index, ref] of refs.entries()) this.#refs.set(ref, index + 1);
    return pathPrice(field.path) + (refs.length > 0 ? prices.expanded_field : 0);
  };

  /** Of what the fields asked for so far have in common. */
  shared(): { feedback: number; refs: number } {
    const levels = [...this.#refs.values()].reduce((sum, level) => sum + level, 0);
    return { feedback: prices.feedback_type * this.#feedbackTypes.size, refs: prices.ref_level * levels };
  }
}

/** The price of replacing the refs in columns of a list. */
export function expandPrice(columns: readonly unknown[]): number {
  return prices.expand_column * columns.length;
}
