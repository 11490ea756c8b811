import type { SpanOptions } from "./span.js";
import { startSpan } from "./span.js";
import { settle } from "./streams.js";

export interface FunctionOptions extends SpanOptions {
  /** Default: the name of the function. */
  name?: string;
}

type AnyFunction = (...args: never[]) => unknown;

/**
 * The same function, each run of which is recorded as a call: its arguments, what it returns or throws, and when. Calls of
 * traced functions inside become its children. Of a stream or generator, the call ends when it has been read.
 *
 * `trace(run)`, `trace("name", run)`, or `trace({ name, attributes, thread }, run)`.
 */
export function trace<Run extends AnyFunction>(run: Run): Run;
export function trace<Run extends AnyFunction>(name: string | FunctionOptions, run: Run): Run;
export function trace(first: string | FunctionOptions | AnyFunction, second?: AnyFunction): AnyFunction {
  const run = (second ?? first) as (...args: unknown[]) => unknown;
  const options = second === undefined ? {} : typeof first === "string" ? { name: first } : (first as FunctionOptions);
  return function traced(this: unknown, ...args: unknown[]): unknown {
    const span = startSpan(options.name || run.name || "anonymous", inputsOf(args), options);
    const fail = (error: unknown): never => {
      span.fail(error);
      throw error;
    };
    let result: unknown;
    try {
      result = span.run(() => run.apply(this, args));
    } catch (error) {
      return fail(error);
    }
    return result instanceof Promise
      ? result.then((value: unknown) => settle(value, span), fail)
      : settle(result, span);
  };
}

/** The members of a single object, else the arguments by their position. */
function inputsOf(args: unknown[]): unknown {
  const [only] = args;
  const isPlain = typeof only === "object" && only !== null && Object.getPrototypeOf(only) === Object.prototype;
  if (args.length === 1 && isPlain) return only;
  return Object.fromEntries(args.map((arg, index) => [`arg${index}`, arg]));
}
