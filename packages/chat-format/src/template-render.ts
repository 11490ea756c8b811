import type { Node } from "./jinja.js";
import { Environment, parse, tokenize } from "./jinja.js";
import { strftime } from "./strftime.js";
import { LimitedInterpreter } from "./template-interpreter.js";
import type { TemplateLimits } from "./template-limits.js";
import { TemplateLimitError, templateLimits } from "./template-limits.js";

const parsed = new Map<string, Node>();

/**
 * Renders a Jinja template as `transformers` does: blocks trimmed, `raise_exception`, `strftime_now` (local time),
 * `range`, `namespace`. Throws an `Error` with the message of the template engine or of the template.
 */
export function renderTemplate(
  source: string,
  variables: Record<string, unknown>,
  { now = new Date(), limits = templateLimits }: { now?: Date; limits?: TemplateLimits } = {},
): string {
  try {
    const globals = new Environment();
    for (const [name, value] of Object.entries(constants)) globals.set(name, value);
    globals.set("range", (...args: unknown[]) => range(args, limits.range));
    globals.set("strftime_now", (format: unknown) => strftime(now, String(format)));
    globals.set("raise_exception", (message: unknown) => {
      throw new Error(String(message));
    });
    const environment = new Environment(globals);
    for (const [name, value] of Object.entries(variables)) environment.set(name, value);
    const result = new LimitedInterpreter(environment, limits).run(program(source));
    return String(result.value);
  } catch (error) {
    throw error instanceof RangeError ? rangeError(error) : error;
  }
}

const constants = { true: true, false: false, none: null, True: true, False: false, None: null };

function program(source: string): Node {
  const known = parsed.get(source);
  if (known) return known;
  const made = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  if (parsed.size >= 16) parsed.clear();
  parsed.set(source, made);
  return made;
}

/** Converts an error of the JavaScript engine. */
function rangeError(error: RangeError): Error {
  if (/call stack/i.test(error.message)) return new TemplateLimitError("calls or lists nested too deeply");
  if (/string length|array length/i.test(error.message))
    return new TemplateLimitError("text or a list that is too long");
  return error;
}

function range(args: unknown[], limit: number): number[] {
  const [first = 0, second, step = 1] = args;
  if (![first, second ?? 0, step].every(Number.isInteger)) throw new Error("range() takes integers");
  const [start, stop] = second === undefined ? [0, Number(first)] : [Number(first), Number(second)];
  if (step === 0) throw new Error("range() step must not be zero");
  const length = Math.max(0, Math.ceil((stop - start) / Number(step)));
  if (length > limit) throw new TemplateLimitError(`range() of ${length} numbers; at most ${limit}`);
  return Array.from({ length }, (_, index) => start + index * Number(step));
}
