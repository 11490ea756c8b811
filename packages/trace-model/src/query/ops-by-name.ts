import { isContentDigest } from "../digest.js";
import type { Expression } from "./expression.js";
import type { CallField } from "./field.js";
import { namedOps } from "./named-ops.js";

/**
 * The same condition on calls of the project, where an `op_name` that equals a text means what the text means in a filter:
 * a bare name is every version of an op. A text that is looked for in an `op_name` is found in the name as people read it,
 * too: clients percent-encode names in refs.
 */
export function opsByName(expression: Expression<CallField>, projectId: string): Expression<CallField> {
  const inside = (operand: Expression<CallField>) => opsByName(operand, projectId);
  switch (expression.op) {
    case "and":
    case "or":
      return { ...expression, operands: expression.operands.map(inside) };
    case "not":
      return { ...expression, operand: inside(expression.operand) };
    case "convert":
    case "size":
      return { ...expression, input: inside(expression.input) };
    case "eq": {
      const { left, right } = expression;
      const [operand, literal] = isOpName(left) ? [left, right] : [right, left];
      if (!isOpName(operand) || literal.op !== "literal" || typeof literal.value !== "string") return expression;
      return oneOf([literal.value], projectId) ?? expression;
    }
    case "in":
      if (expression.type !== "text" || !isOpName(expression.operand)) return expression;
      return oneOf(expression.values, projectId) ?? expression;
    case "contains": {
      const { input, substr } = expression;
      if (!isOpName(input) || substr.op !== "literal" || !/[^\w.~:/-]/.test(String(substr.value))) return expression;
      const readable = { op: "field", field: { kind: "op_text", text: "op_name", type: "text" } } as const;
      return { op: "or", operands: [expression, { ...expression, input: readable }] };
    }
    default:
      return expression;
  }
}

/** Undefined where the texts mean nothing but themselves. */
function oneOf(texts: readonly string[], projectId: string): Expression<CallField> | undefined {
  if (texts.length === 0 || texts.includes("") || texts.every(isVersion)) return undefined;
  return { op: "field", field: { kind: "ops", ops: namedOps(texts, projectId), text: "op_name", type: "bool" } };
}

function isVersion(text: string): boolean {
  return text.startsWith("weave:///") && isContentDigest(text.slice(text.lastIndexOf(":") + 1));
}

function isOpName(expression: Expression<CallField>): boolean {
  return expression.op === "field" && expression.field.kind === "column" && expression.field.name === "op_name";
}
