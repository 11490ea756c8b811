interface Beginnings {
  next: Map<string, Beginnings>;
  /** What may follow here: the rest of each expression, empty for those that end here. */
  rests: Set<string>;
}

/** A literal, or a class or rule with its quantifier, at the beginning of a sequence, and what follows it. */
const firstPart = /^(?:"((?:\\.|[^"\\])*)"|((?:\[(?:\\.|[^\]\\])*\]|r\d+)(?:[*+?]|\{[\d,]+\})?))(?: (.+))?$/s;
const characters = /\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\.|[^\\]/gsu;

/**
 * Returns an expression for any of the given ones, which are sequences. What several of them begin with is written once:
 * where two alternatives begin alike, the library also accepts other texts.
 */
export function alternation(options: readonly string[]): string {
  const distinct = [...new Set(options)];
  const [only] = distinct;
  if (only === undefined || distinct.length === 1) return only ?? '""';
  const root = beginnings();
  for (const option of distinct) {
    let node = root;
    let rest = option;
    for (let part = firstPart.exec(rest); part; part = firstPart.exec(rest)) {
      const [, text, unit, following = ""] = part;
      const steps =
        unit === undefined ? Array.from((text ?? "").matchAll(characters), ([each]) => `"${each}"`) : [unit];
      for (const step of steps) {
        const next = node.next.get(step) ?? beginnings();
        node.next.set(step, next);
        node = next;
      }
      rest = following;
    }
    node.rests.add(rest);
  }
  return written(root);
}

function beginnings(): Beginnings {
  return { next: new Map(), rests: new Set() };
}

function written({ next, rests }: Beginnings): string {
  const options = [...next].map(([first, following]) => {
    const steps = [first];
    let node = following;
    for (let [only] = node.next; only && node.next.size === 1 && node.rests.size === 0; [only] = node.next) {
      const before = only[0].startsWith('"') && steps.at(-1)?.startsWith('"') ? steps.pop() : undefined;
      steps.push(before === undefined ? only[0] : before.slice(0, -1) + only[0].slice(1));
      node = only[1];
    }
    if (node.next.size > 0 || node.rests.size > 1 || !node.rests.has("")) steps.push(written(node));
    return steps.join(" ");
  });
  options.push(...[...rests].map((rest) => rest || '""'));
  return options.length === 1 ? (options[0] ?? "") : `(${options.join(" | ")})`;
}
