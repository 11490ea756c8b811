import { literal } from "../ebnf.js";
import type { GrammarContext } from "./grammar-context.js";
import { invalidSchema } from "./keywords.js";

export interface Member {
  expression: string;
  required: boolean;
}

/** How many members an object has, and the pointer of a keyword that says so. */
export interface MemberCounts {
  min: number;
  max: number | undefined;
  at: string;
}

/**
 * Builds from the last member to the first the expressions for the rest of the object before any member (`first`) and
 * after `count` of them (`after[count]`): two small rules per member, independent of the number of optional ones, and
 * more only where members are counted. Names of other members may be equal, so that these count as one for the minimum.
 */
export function membersBody(
  members: readonly Member[],
  others: string | undefined,
  { min, max, at }: MemberCounts,
  { builder, json }: GrammarContext,
): string {
  const counted = max === undefined ? min : Math.max(min, max);
  const most = max ?? Number.POSITIVE_INFINITY;
  const following = (count: number): number => (count < counted || max !== undefined ? count + 1 : count);
  const highest = Math.min(members.length, counted) + 1;
  let after = Array.from({ length: highest + 1 }, (_, count) => end(count));
  const firstMembers = others === undefined || most < 1 || min > 1 ? undefined : `${others} ${end(1)}`;
  let first = firstMembers === undefined ? undefined : builder.rule(firstMembers);
  let mayBeEmpty = min === 0;
  for (const { expression, required } of members.toReversed()) {
    const then = after[Math.min(following(0), highest)];
    const here = then === undefined ? undefined : `${expression} ${then}`;
    const skipped = required ? undefined : first;
    first = either(here, skipped);
    if (required) mayBeEmpty = false;
    after = after.map((skip, count) => {
      const next = after[Math.min(following(count), highest)];
      const written = count + 1 > most || next === undefined ? undefined : `${json.comma} ${expression} ${next}`;
      return either(written, required ? undefined : skip);
    });
  }
  const open = `${literal("{")} ${json.space}`;
  if (first !== undefined && most > 0) return `${open} ${first}${mayBeEmpty ? "?" : ""} ${literal("}")}`;
  if (mayBeEmpty) return `${open} ${literal("}")}`;
  throw invalidSchema(at, "no object that a grammar can describe has so many members: undeclared ones count as one");

  function either(one: string | undefined, other: string | undefined): string | undefined {
    const options = [one, other].filter((option) => option !== undefined);
    return options.length === 0 ? undefined : builder.rule(options.join(" | "));
  }

  /** What follows the last declared member. */
  function end(count: number): string | undefined {
    const least = Math.max(0, min - count);
    const left = most - count;
    if (left < 0 || least > 1 || least > left || (least > 0 && others === undefined)) return undefined;
    const range = Number.isFinite(left) ? `{${least},${left}}` : least === 0 ? "*" : "+";
    const more = others === undefined || left === 0 ? "" : `(${json.comma} ${others})${range} `;
    return builder.rule(`${more}${json.space}`);
  }
}
