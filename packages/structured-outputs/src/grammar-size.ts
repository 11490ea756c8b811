import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { Expression, Rule } from "./parse-grammar.js";
import { children, parseGrammar } from "./parse-grammar.js";
import { sequencesOf, sequenceStates } from "./sequence-states.js";

/** States of all rules of a grammar, with one for every character of a text. */
const maxStates = 100_000;
/** States of repetitions in repetitions, with their counts multiplied out. */
const maxNestedStates = 10_000;
/** Alternatives that can begin where a rule does, over all rules. */
const maxBeginnings = 1_000_000;
/** States of the automaton of one sequence. */
const maxSequenceStates = 2_000;

/**
 * Throws `too_large` with `loc` for a grammar whose compilation would take long: its states are counted before they are
 * made. The counts follow the library: it multiplies out nested repetitions, and makes the automaton of a sequence of
 * classes deterministic.
 */
export function checkGrammarSize(grammar: string, loc: Loc): void {
  const rules = parseGrammar(grammar);
  let states = 0;
  for (const { body } of rules) {
    states += countStates(body);
    limit("states", states, maxStates);
    limit("states in nested repetitions", nestedStates(body, 1), maxNestedStates);
    for (const run of sequencesOf(body))
      limit("states in one automaton", sequenceStates(run, maxSequenceStates), maxSequenceStates);
  }
  limit("alternatives", beginnings(rules), maxBeginnings);

  function limit(what: string, count: number, most: number): void {
    if (count <= most) return;
    const message = `The constraint is too large: it has more than ${most} ${what}.`;
    throw new HeddleError("too_large", message, { loc });
  }
}

/** Counts each part once. */
function countStates(expression: Expression): number {
  if (expression.kind === "text") return expression.source.length;
  return children(expression).reduce((sum, each) => sum + countStates(each), 1);
}

/** How often a repetition is written out. */
function copies({ min, max }: { min: number; max: number }): number {
  return Math.max(1, Number.isFinite(max) ? max : min);
}

/** Returns the most states that a repetition in a repetition has, 0 without one. */
function nestedStates(expression: Expression, outer: number): number {
  const times = expression.kind === "repeat" ? copies(expression) : 1;
  const own = times > 1 && outer > 1 ? outer * times * countStates(expression) : 0;
  return children(expression).reduce((most, each) => Math.max(most, nestedStates(each, outer * times)), own);
}

/**
 * Counts the alternatives that can begin where each rule begins: those of a rule that begins with another rule include
 * the other's. Optional members of an object, of which each can be followed by all later ones, are such rules.
 */
function beginnings(rules: readonly Rule[]): number {
  const counts = new Map<string, number>();
  let sum = 0;
  // Rules are mostly defined after those that they begin with.
  for (const { name, body } of rules) {
    const count = beginningsOf(body, counts);
    counts.set(name, count);
    sum += count;
  }
  return sum;
}

function beginningsOf(expression: Expression, counts: ReadonlyMap<string, number>): number {
  switch (expression.kind) {
    case "rule":
      return counts.get(expression.name) ?? 1;
    case "choice":
      return expression.options.reduce((sum, each) => sum + beginningsOf(each, counts), 0);
    case "repeat":
      return beginningsOf(expression.part, counts);
    case "sequence":
      return expression.parts[0] ? beginningsOf(expression.parts[0], counts) : 1;
    default:
      return 1;
  }
}
