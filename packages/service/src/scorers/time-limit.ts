import { createContext, Script } from "node:vm";
import { HeddleError } from "@heddle/errors";
import type { ScorerClass } from "./scorer-class.js";

const context = createContext({});
const script = new Script("run()");

/** Enough for all but what is made to take long. */
const limitMs = 250;
/** The processor may have been busy with others. */
const attempts = 2;

/** The same class, none of whose scores and checks takes longer than the limit. */
export function withTimeLimit(scorerClass: ScorerClass): ScorerClass {
  const { check, open } = scorerClass;
  return {
    ...scorerClass,
    ...(check && { check: (parameters) => withinTime(() => check(parameters)) }),
    ...(open && {
      open(parameters) {
        const score = open(parameters);
        return (variables) => withinTime(() => score(variables));
      },
    }),
  };
}

/**
 * Runs a synchronous function whose time depends on what users wrote, and throws `too_large` when it takes longer. The
 * function is stopped in the middle of its work: what it changed must not be used again. Code of the engine that cannot
 * be interrupted goes on, until the thread is replaced.
 */
function withinTime<T>(run: () => T): T {
  context["run"] = run;
  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      try {
        return script.runInContext(context, { timeout: limitMs }) as T;
      } catch (error) {
        // It is an `Error` of the other context.
        if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      }
    }
    throw new HeddleError("too_large", `takes longer than ${limitMs} ms`);
  } finally {
    delete context["run"];
  }
}
