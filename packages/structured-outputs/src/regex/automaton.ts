import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { GrammarBuilder } from "../ebnf.js";
import type { CodePointRange } from "../utf8-ranges.js";
import { normalizeRanges } from "../utf8-ranges.js";
import type { CharacterWriter } from "./character-writer.js";
import type { Term, Terms } from "./terms.js";
import { characterKinds } from "./terms.js";

/** The library needs up to 10 ms for each in a vocabulary of 30,000 tokens. */
const maxStates = 600;
const maxSteps = 60_000;

interface State {
  term: Term;
  next: Map<Term, CodePointRange[]>;
}

/**
 * Returns an expression for the texts of a term, or undefined if there are none. Its states are counted while they are
 * found. Throws `too_large` with `loc` for more than `maxStates`.
 */
export function automatonExpression(
  term: Term,
  terms: Terms,
  builder: GrammarBuilder,
  writer: CharacterWriter,
  loc: Loc,
): string | undefined {
  const states = liveStates(statesOf(term, terms, loc));
  if (!states.has(term)) return undefined;
  const names = new Map([...states.keys()].map((each) => [each, builder.reserve()]));
  for (const [each, { next }] of states) {
    const live = [...next].filter(([target]) => states.has(target));
    const options = live
      .filter(([target]) => target !== each)
      .map(([target, ranges]) => `${writer.set(normalizeRanges(ranges))} ${names.get(target)}`);
    if (each.nullable) options.push('""');
    builder.define(names.get(each) ?? "", `${loop(each)} (${options.join(" | ")})`);
  }
  return names.get(term);

  function loop(each: Term): string {
    const again = states.get(each)?.next.get(each);
    return again ? `${writer.set(normalizeRanges(again))}*` : '""';
  }
}

function statesOf(start: Term, terms: Terms, loc: Loc): Map<Term, State> {
  const kinds = characterKinds(start).map((ranges) => ({ ranges, point: ranges[0]?.[0] ?? 0 }));
  const states = new Map<Term, State>();
  const pending = [start];
  let steps = 0;
  while (pending.length > 0) {
    const term = pending.pop() ?? start;
    if (states.has(term) || term === terms.none) continue;
    const state: State = { term, next: new Map() };
    states.set(term, state);
    steps += kinds.length;
    if (states.size > maxStates || steps > maxSteps) {
      const message = `The patterns, formats and lengths together are too large: they have more than ${maxStates} states.`;
      throw new HeddleError("too_large", message, { loc });
    }
    for (const { ranges, point } of kinds) {
      const next = terms.after(term, point);
      state.next.set(next, [...(state.next.get(next) ?? []), ...ranges]);
      pending.push(next);
    }
  }
  return states;
}

/** Keeps the states from which a text can end. */
function liveStates(states: ReadonlyMap<Term, State>): Map<Term, State> {
  const sources = new Map<Term, Term[]>();
  for (const [term, { next }] of states) {
    for (const target of next.keys()) sources.set(target, [...(sources.get(target) ?? []), term]);
  }
  const live = new Set<Term>();
  const pending = [...states.keys()].filter((term) => term.nullable);
  while (pending.length > 0) {
    const term = pending.pop();
    if (term === undefined || live.has(term)) continue;
    live.add(term);
    pending.push(...(sources.get(term) ?? []));
  }
  return new Map([...states].filter(([term]) => live.has(term)));
}
