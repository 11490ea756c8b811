import { literal, oneOf, type RuleBook } from "../ebnf.js";
import { type CodePointRange, otherRanges } from "../utf8-ranges.js";

interface Branch {
  ends: boolean;
  next: Map<number, Branch>;
}

/**
 * An expression for the rest of a JSON string, closing quote included, that is none of `names`. Only characters that need no
 * escape are used, so that no name can be spelt in another way.
 */
export function otherKey(book: RuleBook, names: readonly string[], raw: readonly CodePointRange[]): string {
  const root: Branch = { ends: false, next: new Map() };
  for (const name of names) {
    let branch = root;
    for (const character of name) {
      const codePoint = character.codePointAt(0) ?? 0;
      const next = branch.next.get(codePoint) ?? { ends: false, next: new Map<number, Branch>() };
      branch.next.set(codePoint, next);
      branch = next;
    }
    branch.ends = true;
  }
  const free = book.rule(`${book.characters(raw)}* ${literal('"')}`);
  return differing(root);

  function differing(branch: Branch): string {
    const taken = [...branch.next.keys()].map((codePoint): CodePointRange => [codePoint, codePoint]);
    const quoteAndControls = otherRanges(raw);
    const options = [`${book.characters(otherRanges([...taken, ...quoteAndControls]))} ${free}`];
    if (!branch.ends) options.push(literal('"'));
    for (const [codePoint, next] of branch.next) {
      if (quoteAndControls.some(([first, last]) => codePoint >= first && codePoint <= last)) continue;
      options.push(`${literal(String.fromCodePoint(codePoint))} ${differing(next)}`);
    }
    return book.rule(oneOf(options));
  }
}
