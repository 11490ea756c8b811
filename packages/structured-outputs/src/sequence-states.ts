import type { Expression } from "./parse-grammar.js";
import { children } from "./parse-grammar.js";

/** The library makes no part of an automaton of longer repetitions of one class. */
const maxExpanded = 128;

/** A position of an automaton: one character of a class, or any number of them. */
interface Position {
  source: string;
  loops: boolean;
}

/** Returns the sequences of classes and texts that the library makes one deterministic automaton of. */
export function sequencesOf(expression: Expression): Position[][] {
  const found: Position[][] = [];
  let current: Position[] = [];
  const end = (): void => {
    if (current.some(({ loops }) => loops)) found.push(current);
    current = [];
  };
  const visit = (each: Expression): void => {
    if (each.kind === "sequence") {
      for (const part of each.parts) visit(part);
      return;
    }
    const positions = positionsOf(each);
    if (positions) {
      current.push(...positions);
      return;
    }
    end();
    for (const child of children(each)) {
      visit(child);
      end();
    }
  };
  visit(expression);
  end();
  return found;
}

const characters = /\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\x[0-9a-fA-F]{2}|\\?./gsu;

function positionsOf(expression: Expression): Position[] | undefined {
  if (expression.kind === "text") {
    const units = expression.source.slice(0, maxExpanded).match(characters) ?? [];
    return units.map((source) => ({ source, loops: false }));
  }
  if (expression.kind === "class") return [{ source: expression.source, loops: false }];
  if (expression.kind !== "repeat" || expression.part.kind !== "class") return undefined;
  const { part, min, max } = expression;
  const { source } = part;
  if (min === 0 && max === Number.POSITIVE_INFINITY) return [{ source, loops: true }];
  if (min !== max || min >= maxExpanded) return undefined;
  return Array.from({ length: min }, () => ({ source, loops: false }));
}

/**
 * Counts the states of the deterministic automaton of a sequence, each a set of its positions. Stops above `limit`, and
 * returns Infinity for sets that take too long to follow.
 */
export function sequenceStates(positions: readonly Position[], limit: number): number {
  const symbols = symbolsOf(positions);
  const states = new Set<string>();
  const pending: (readonly number[])[] = [closure([0], positions)];
  let work = limit * 200;
  while (pending.length > 0) {
    const state = pending.pop() ?? [];
    const key = state.join(",");
    if (states.has(key)) continue;
    states.add(key);
    if (states.size > limit) return states.size;
    for (const matching of symbols) {
      work -= state.length;
      if (work < 0) return Number.POSITIVE_INFINITY;
      const next = state.flatMap((at) => (matching.has(at) ? [positions[at]?.loops ? at : at + 1] : []));
      if (next.length > 0) pending.push(closure(next, positions));
    }
  }
  return states.size;
}

/** Adds what follows positions that may match nothing. */
function closure(positions: readonly number[], all: readonly Position[]): number[] {
  const closed = new Set<number>();
  for (const first of positions) {
    for (let at = first; !closed.has(at); at++) {
      closed.add(at);
      if (!all[at]?.loops) break;
    }
  }
  return [...closed].toSorted((a, b) => a - b);
}

/** Returns, for every kind of character, the positions that match it. */
function symbolsOf(positions: readonly Position[]): ReadonlySet<number>[] {
  const classes = new Map<string, Uint8Array>();
  const symbols = new Map<string, Set<number>>();
  for (const { source } of positions) if (!classes.has(source)) classes.set(source, bytesOf(source));
  for (let byte = 0; byte < 256; byte++) {
    const matching = [...classes].filter(([, bytes]) => bytes[byte] === 1).map(([source]) => source);
    const key = matching.join("\n");
    if (symbols.has(key)) continue;
    const set = new Set<number>();
    for (const [at, { source }] of positions.entries()) if (matching.includes(source)) set.add(at);
    symbols.set(key, set);
  }
  return [...symbols.values()];
}

/** Which bytes a class, or one character of a text, matches. Those beyond ASCII are the last bytes of all characters. */
function bytesOf(source: string): Uint8Array {
  const isClass = source.length > 1 && source.startsWith("[") && source.endsWith("]");
  const negated = isClass && source.startsWith("[^");
  const units = (isClass ? source.slice(negated ? 2 : 1, -1) : source).match(characters) ?? [];
  const bytes = new Uint8Array(256).fill(negated ? 1 : 0);
  for (let at = 0; at < units.length; at++) {
    const first = codePointOf(units[at] ?? "");
    const isRange = isClass && units[at + 1] === "-" && at + 2 < units.length;
    const last = isRange ? codePointOf(units[at + 2] ?? "") : first;
    if (isRange) at += 2;
    bytes.fill(negated ? 0 : 1, Math.min(first, 255), Math.min(last, 255) + 1);
  }
  return bytes;
}

const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, "0": 0, a: 7, b: 8, f: 12, v: 11, e: 27 };

function codePointOf(unit: string): number {
  const hexadecimal = /^\\[uUx]([0-9a-fA-F]+)$/.exec(unit)?.[1];
  if (hexadecimal !== undefined) return Number.parseInt(hexadecimal, 16);
  if (!unit.startsWith("\\") || unit.length === 1) return unit.codePointAt(0) ?? 0;
  return controls[unit.charAt(1)] ?? unit.codePointAt(1) ?? 0;
}
