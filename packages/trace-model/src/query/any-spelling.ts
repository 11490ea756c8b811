import { refSpellings } from "../refs/spellings.js";
import type { Expression, TypedField } from "./expression.js";

/** A field of refs equals a ref however the name in it is spelled; other expressions come back as they are. */
export function anySpelling<F extends TypedField>(expression: Expression<F>): Expression<F> {
  if (expression.op === "in" && expression.type === "text" && isOfRefs(expression.operand)) {
    return { ...expression, values: expression.values.flatMap(refSpellings) };
  }
  if (expression.op !== "eq") return expression;
  const { left, right } = expression;
  const [operand, literal] = isOfRefs(left) ? [left, right] : [right, left];
  if (!isOfRefs(operand) || literal.op !== "literal" || typeof literal.value !== "string") return expression;
  const values = refSpellings(literal.value);
  return values.length === 1 ? expression : { op: "in", operand, type: "text", values };
}

function isOfRefs<F extends TypedField>(expression: Expression<F>): boolean {
  return expression.op === "field" && expression.field.refs === true;
}
