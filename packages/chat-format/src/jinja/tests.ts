import type { Budget } from "./budget.js";
import { countPass } from "./operands.js";
import { compare, contains, equal, numberIn } from "./operators.js";
import { bind } from "./signature.js";
import { TemplateError } from "./template-error.js";
import { isLower, isUpper } from "./text-operations.js";
import type { Arguments, Value } from "./values.js";
import { Attributes, Callable, Float, Generator, Tuple, lengthOf } from "./values.js";

type Test = (value: Value, args: Arguments, budget: Budget) => boolean;

const comparing =
  (operator: "==" | "!=" | "<" | "<=" | ">" | ">="): Test =>
  (value, args, budget) =>
    compare(operator, value, bind("test", args, ["other"], 1)[0], budget);

const isInteger = (value: Value): boolean => typeof value === "number" || typeof value === "bigint";

function remainder(value: Value, divisor: bigint): bigint {
  const number = numberIn(value);
  if (number === undefined || number instanceof Float) throw new TemplateError("the test takes an integer");
  return BigInt(number) % divisor;
}

const tests = new Map<string, Test>([
  ["defined", (value) => value !== undefined],
  ["undefined", (value) => value === undefined],
  ["none", (value) => value === null],
  ["true", (value) => value === true],
  ["false", (value) => value === false],
  ["boolean", (value) => typeof value === "boolean"],
  ["integer", isInteger],
  ["float", (value) => value instanceof Float],
  ["number", (value) => numberIn(value) !== undefined],
  ["string", (value) => typeof value === "string"],
  ["mapping", (value) => value instanceof Map],
  ["sequence", (value, _args, budget) => lengthOf(value, budget) !== undefined],
  ["iterable", (value, _args, budget) => lengthOf(value, budget) !== undefined || value instanceof Generator],
  ["callable", (value) => value instanceof Callable || value instanceof Attributes],
  ["odd", (value) => remainder(value, 2n) !== 0n],
  ["even", (value) => remainder(value, 2n) === 0n],
  [
    "divisibleby",
    (value, args) => {
      const [divisor] = bind("divisibleby", args, ["num"], 1);
      if (typeof divisor !== "number" || divisor === 0) throw new TemplateError("divisibleby takes an integer");
      return remainder(value, BigInt(divisor)) === 0n;
    },
  ],
  ["lower", (value, _args, budget) => typeof value === "string" && isLower(value, budget)],
  ["upper", (value, _args, budget) => typeof value === "string" && isUpper(value, budget)],
  ["sameas", (value, args, budget) => sameAs(value, bind("sameas", args, ["other"], 1)[0], budget)],
  ["in", (value, args, budget) => contains(bind("in", args, ["seq"], 1)[0], value, budget)],
  ["escaped", () => false],
  ...(["==", "eq", "equalto"] as const).map((name): [string, Test] => [name, comparing("==")]),
  ...(["!=", "ne"] as const).map((name): [string, Test] => [name, comparing("!=")]),
  ...(["<", "lt", "lessthan"] as const).map((name): [string, Test] => [name, comparing("<")]),
  ...(["<=", "le"] as const).map((name): [string, Test] => [name, comparing("<=")]),
  ...([">", "gt", "greaterthan"] as const).map((name): [string, Test] => [name, comparing(">")]),
  ...([">=", "ge"] as const).map((name): [string, Test] => [name, comparing(">=")]),
]);

function sameAs(a: Value, b: Value, budget: Budget): boolean {
  if (typeof a === "object" && a !== null && !(a instanceof Float) && !(a instanceof Tuple)) return a === b;
  return typeof a === typeof b && equal(a, b, budget);
}

/** Runs a test of Jinja, such as `defined` or `string`. */
export function runTest(name: string, value: Value, args: Arguments, budget: Budget): boolean {
  const test = tests.get(name);
  if (!test) throw new TemplateError(`no test named '${name}'`);
  budget.spend(1);
  countPass([value, ...args.positional], budget);
  return test(value, args, budget);
}
