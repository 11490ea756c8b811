import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { Regex } from "./regex-syntax.js";
import type { Term, Terms } from "./terms.js";

/**
 * Returns the texts that match a regular expression: as a whole, or with `search` where it is found in them, as
 * `pattern` of JSON schemas means it. Look-ahead is possible outside of repetitions.
 */
export function regexTerm(regex: Regex, terms: Terms, loc: Loc, search = false): Term {
  const options = regex.kind === "choice" ? regex.options : [regex];
  return terms.either(
    options.map((option) => {
      const parts = option.kind === "sequence" ? option.parts : [option];
      const anchored = parts[0]?.kind === "start";
      const whole: Regex = { kind: "sequence", parts };
      const body = anchored || !search ? withoutStart(whole) : whole;
      const term = before(body, search ? terms.all : terms.empty);
      return search && !anchored ? terms.cat(terms.all, term) : term;
    }),
  );

  /** The texts of a part, followed by those of `rest`. */
  function before(part: Regex, rest: Term): Term {
    switch (part.kind) {
      case "characters":
        return terms.cat(terms.set(part.ranges), rest);
      case "sequence":
        return part.parts.reduceRight((following, each) => before(each, following), rest);
      case "choice":
        return terms.either(part.options.map((each) => before(each, rest)));
      case "repeat":
        if (!isPlain(part.part)) return repeatedLook(part, rest);
        return terms.cat(terms.repeat(before(part.part, terms.empty), part.min, part.max ?? Infinity), rest);
      case "end":
        return terms.both([terms.empty, rest]);
      case "look": {
        const ahead = before(part.ahead, terms.all);
        return terms.both([part.negative ? terms.not(ahead) : ahead, rest]);
      }
      default:
        throw notPossible("^ is in the middle of the expression");
    }
  }

  /** What is looked ahead of may be optional, but not repeated. */
  function repeatedLook(part: Extract<Regex, { kind: "repeat" }>, rest: Term): Term {
    if (part.max !== 1) throw notPossible("a repetition contains an anchor or look-ahead");
    const once = before(part.part, rest);
    return part.min === 1 ? once : terms.either([once, rest]);
  }

  function notPossible(reason: string): HeddleError {
    return new HeddleError("invalid", `Regular expression not usable: ${reason}.`, { loc });
  }
}

/** An expression that begins where the text does, without the anchors there, those that look ahead included. */
function withoutStart(regex: Regex): Regex {
  switch (regex.kind) {
    case "start":
      return { kind: "sequence", parts: [] };
    case "choice":
      return { kind: "choice", options: regex.options.map(withoutStart) };
    case "look":
      return { ...regex, ahead: withoutStart(regex.ahead) };
    case "sequence": {
      const consumes = regex.parts.findIndex(({ kind }) => kind !== "start" && kind !== "look");
      const end = consumes === -1 ? regex.parts.length : consumes + 1;
      return { kind: "sequence", parts: [...regex.parts.slice(0, end).map(withoutStart), ...regex.parts.slice(end)] };
    }
    default:
      return regex;
  }
}

/** Whether the expression has neither anchors nor look-ahead. */
function isPlain(regex: Regex): boolean {
  switch (regex.kind) {
    case "characters":
      return true;
    case "sequence":
      return regex.parts.every(isPlain);
    case "choice":
      return regex.options.every(isPlain);
    case "repeat":
      return isPlain(regex.part);
    default:
      return false;
  }
}

export function hasLookAhead(regex: Regex): boolean {
  switch (regex.kind) {
    case "look":
      return true;
    case "sequence":
      return regex.parts.some(hasLookAhead);
    case "choice":
      return regex.options.some(hasLookAhead);
    case "repeat":
      return hasLookAhead(regex.part);
    default:
      return false;
  }
}
