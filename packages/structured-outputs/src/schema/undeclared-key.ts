import type { GrammarBuilder } from "../ebnf.js";
import { alternation } from "../alternation.js";
import { literal } from "../ebnf.js";
import type { CodePointRange } from "../utf8-ranges.js";
import { complementRanges } from "../utf8-ranges.js";

interface KeyTrie {
  isKey: boolean;
  next: Map<number, KeyTrie>;
}

/**
 * Returns an expression for the rest of a JSON string, including the closing quote, that differs from all `names`. It
 * allows only unescaped characters, so that no name can be written with escapes.
 */
export function undeclaredKey(
  builder: GrammarBuilder,
  names: readonly string[],
  unescaped: readonly CodePointRange[],
): string {
  const root: KeyTrie = { isKey: false, next: new Map() };
  for (const name of names) {
    let trie = root;
    for (const character of name) {
      const codePoint = character.codePointAt(0) ?? 0;
      const next = trie.next.get(codePoint) ?? { isKey: false, next: new Map<number, KeyTrie>() };
      trie.next.set(codePoint, next);
      trie = next;
    }
    trie.isKey = true;
  }
  const free = builder.rule(`${builder.characters(unescaped)}* ${literal('"')}`);
  return differing(root);

  function differing(trie: KeyTrie): string {
    const taken = [...trie.next.keys()].map((codePoint): CodePointRange => [codePoint, codePoint]);
    const quoteAndControls = complementRanges(unescaped);
    const options = [`${builder.characters(complementRanges([...taken, ...quoteAndControls]))} ${free}`];
    if (!trie.isKey) options.push(literal('"'));
    for (const [codePoint, next] of trie.next) {
      if (quoteAndControls.some(([first, last]) => codePoint >= first && codePoint <= last)) continue;
      options.push(`${literal(String.fromCodePoint(codePoint))} ${differing(next)}`);
    }
    return builder.rule(alternation(options));
  }
}
