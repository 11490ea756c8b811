import { Budget } from "./jinja/budget.js";
import { templateValue } from "./jinja/from-json.js";
import { templateGlobals } from "./jinja/globals.js";
import { parseTemplate } from "./jinja/parse-template.js";
import { Renderer } from "./jinja/renderer.js";
import { Scope } from "./jinja/scope.js";
import type { Statement } from "./jinja/syntax.js";
import type { TemplateLimits } from "./template-limits.js";
import { TemplateLimitError, templateLimits } from "./template-limits.js";

const parsed = new Map<string, Statement[]>();

/**
 * Renders a Jinja template as `transformers` does: blocks trimmed, values written as Python writes them,
 * `raise_exception`, `strftime_now` (local time), `range`, `namespace`, `dict`. Throws an `Error` with the reason.
 */
export function renderTemplate(
  source: string,
  variables: Record<string, unknown>,
  { now = new Date(), limits = templateLimits }: { now?: Date; limits?: TemplateLimits } = {},
): string {
  try {
    const budget = new Budget(limits);
    const scope = new Scope();
    for (const [name, value] of templateGlobals(budget, now)) scope.set(name, value);
    for (const [name, value] of Object.entries(variables)) scope.set(name, templateValue(value));
    return new Renderer(budget).render(program(source), scope);
  } catch (error) {
    throw error instanceof RangeError ? rangeError(error) : error;
  }
}

function program(source: string): Statement[] {
  const known = parsed.get(source);
  if (known) return known;
  const statements = parseTemplate(source);
  if (parsed.size >= 16) parsed.clear();
  parsed.set(source, statements);
  return statements;
}

/** Converts an error of the JavaScript engine. */
function rangeError(error: RangeError): Error {
  if (/call stack/i.test(error.message)) return new TemplateLimitError("calls or lists nested too deeply");
  if (/string length|array length/i.test(error.message)) {
    return new TemplateLimitError("text or a list that is too long");
  }
  return error;
}
