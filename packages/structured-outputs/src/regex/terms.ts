import type { CodePointRange } from "../utf8-ranges.js";

/** A set of texts, with a number that equal sets of the same `Terms` share. */
export interface Term {
  id: number;
  nullable: boolean;
  shape:
    | { kind: "none" | "empty" | "all" }
    | { kind: "set"; ranges: readonly CodePointRange[] }
    | { kind: "cat"; first: Term; rest: Term }
    | { kind: "repeat"; part: Term; min: number; max: number }
    | { kind: "either" | "both"; parts: readonly Term[] }
    | { kind: "not"; part: Term };
}

const everyCharacter: readonly CodePointRange[] = [[0, 0x10ffff]];

/** Builds sets of texts, and what may follow a first character in them (Brzozowski derivatives). */
export class Terms {
  readonly none: Term;
  readonly empty: Term;
  readonly all: Term;
  readonly #terms = new Map<string, Term>();
  /** What was found to follow, by term and character. */
  readonly #followers = new Map<number, Map<number, Term>>();

  constructor() {
    this.none = this.#term("none", false, { kind: "none" });
    this.empty = this.#term("empty", true, { kind: "empty" });
    this.all = this.#term("all", true, { kind: "all" });
  }

  set(ranges: readonly CodePointRange[]): Term {
    if (ranges.length === 0) return this.none;
    return this.#term(`set ${ranges.join(";")}`, false, { kind: "set", ranges });
  }

  text(text: string): Term {
    const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
    return points.reduceRight((rest, point) => this.cat(this.set([[point, point]]), rest), this.empty);
  }

  cat(first: Term, rest: Term): Term {
    if (first === this.none || rest === this.none) return this.none;
    if (first === this.empty) return rest;
    if (rest === this.empty) return first;
    if (first.shape.kind === "cat") return this.cat(first.shape.first, this.cat(first.shape.rest, rest));
    return this.#term(`cat ${first.id} ${rest.id}`, first.nullable && rest.nullable, { kind: "cat", first, rest });
  }

  repeat(part: Term, least: number, max: number): Term {
    const min = part.nullable ? 0 : least;
    if (max <= 0 || part === this.empty) return this.empty;
    if (part === this.none) return min === 0 ? this.empty : this.none;
    if (min === 1 && max === 1) return part;
    return this.#term(`repeat ${part.id} ${min} ${max}`, min === 0, { kind: "repeat", part, min, max });
  }

  either(parts: readonly Term[]): Term {
    return this.#combined("either", parts, this.none, this.all);
  }

  both(parts: readonly Term[]): Term {
    return this.#combined("both", parts, this.all, this.none);
  }

  not(part: Term): Term {
    if (part.shape.kind === "not") return part.shape.part;
    if (part === this.none) return this.all;
    if (part === this.all) return this.none;
    return this.#term(`not ${part.id}`, !part.nullable, { kind: "not", part });
  }

  /** Any texts with a number of characters. */
  ofLength(min: number, max: number): Term {
    return min === 0 && max === Number.POSITIVE_INFINITY ? this.all : this.repeat(this.set(everyCharacter), min, max);
  }

  /** The texts that follow a first character in those of the term. */
  after(term: Term, point: number): Term {
    const known = this.#followers.get(term.id) ?? new Map<number, Term>();
    this.#followers.set(term.id, known);
    const follower = known.get(point) ?? this.#after(term, point);
    known.set(point, follower);
    return follower;
  }

  #after(term: Term, point: number): Term {
    const { shape } = term;
    switch (shape.kind) {
      case "none":
      case "empty":
        return this.none;
      case "all":
        return term;
      case "set":
        return shape.ranges.some(([first, last]) => point >= first && point <= last) ? this.empty : this.none;
      case "cat": {
        const inFirst = this.cat(this.after(shape.first, point), shape.rest);
        return shape.first.nullable ? this.either([inFirst, this.after(shape.rest, point)]) : inFirst;
      }
      case "repeat": {
        const rest = this.repeat(shape.part, Math.max(0, shape.min - 1), shape.max - 1);
        return this.cat(this.after(shape.part, point), rest);
      }
      case "either":
        return this.either(shape.parts.map((part) => this.after(part, point)));
      case "both":
        return this.both(shape.parts.map((part) => this.after(part, point)));
      default:
        return this.not(this.after(shape.part, point));
    }
  }

  includes(term: Term, text: string): boolean {
    return Array.from(text).reduce((rest, character) => this.after(rest, character.codePointAt(0) ?? 0), term).nullable;
  }

  #combined(kind: "either" | "both", given: readonly Term[], neutral: Term, absorbing: Term): Term {
    const flat = given.flatMap((part) =>
      (part.shape.kind === "either" || part.shape.kind === "both") && part.shape.kind === kind
        ? part.shape.parts
        : [part],
    );
    const parts = [...new Set(flat)].filter((part) => part !== neutral).toSorted((a, b) => a.id - b.id);
    if (parts.includes(absorbing)) return absorbing;
    const [only] = parts;
    if (only === undefined) return neutral;
    if (parts.length === 1) return only;
    const nullable = kind === "either" ? parts.some((part) => part.nullable) : parts.every((part) => part.nullable);
    return this.#term(`${kind} ${parts.map(({ id }) => id).join(" ")}`, nullable, { kind, parts });
  }

  #term(key: string, nullable: boolean, shape: Term["shape"]): Term {
    const known = this.#terms.get(key);
    if (known) return known;
    const term = { id: this.#terms.size, nullable, shape };
    this.#terms.set(key, term);
    return term;
  }
}

/** Divides all characters into those that no set of the term tells apart. */
export function characterKinds(term: Term): CodePointRange[][] {
  const sets = new Map<number, readonly CodePointRange[]>();
  const seen = new Set<number>();
  const pending = [term];
  while (pending.length > 0) {
    const { id, shape } = pending.pop() ?? term;
    if (seen.has(id)) continue;
    seen.add(id);
    if (shape.kind === "set") sets.set(id, shape.ranges);
    if (shape.kind === "cat") pending.push(shape.first, shape.rest);
    if (shape.kind === "either" || shape.kind === "both") pending.push(...shape.parts);
    if (shape.kind === "repeat" || shape.kind === "not") pending.push(shape.part);
  }
  const changes = new Map<number, number[]>([[0, []]]);
  const change = (at: number, id: number): void => void changes.set(at, [...(changes.get(at) ?? []), id]);
  for (const [id, ranges] of sets) {
    for (const [first, last] of ranges) {
      change(first, id);
      change(last + 1, id);
    }
  }
  const kinds = new Map<string, CodePointRange[]>();
  const inside = new Set<number>();
  const starts = [...changes.keys()].filter((at) => at <= 0x10ffff).toSorted((a, b) => a - b);
  for (const [index, first] of starts.entries()) {
    for (const id of changes.get(first) ?? []) if (!inside.delete(id)) inside.add(id);
    const key = [...inside].toSorted((a, b) => a - b).join(" ");
    const range: CodePointRange = [first, (starts[index + 1] ?? 0x110000) - 1];
    kinds.set(key, [...(kinds.get(key) ?? []), range]);
  }
  return [...kinds.values()];
}
