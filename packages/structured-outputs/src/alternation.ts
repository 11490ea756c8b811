interface Beginnings {
  next: Map<string, Beginnings>;
  /** What may follow here: the rest of each expression, empty for those that end here. */
  rests: Set<string>;
}

/** A literal at the beginning of a sequence, and what follows it. */
const literalFirst = /^"((?:\\.|[^"\\])*)"(?: (.+))?$/s;
const characters = /\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\.|[^\\]/gsu;

/**
 * Returns an expression for any of the given ones, which are sequences. Characters with which several of them begin are
 * written once: where two alternatives begin alike, the library also accepts other texts.
 */
export function alternation(options: readonly string[]): string {
  const distinct = [...new Set(options)];
  const [only] = distinct;
  if (only === undefined || distinct.length === 1) return only ?? '""';
  const root = beginnings();
  for (const option of distinct) {
    const [, text = "", rest = ""] = literalFirst.exec(option) ?? [option, "", option];
    let node = root;
    for (const [character] of text.matchAll(characters)) {
      const next = node.next.get(character) ?? beginnings();
      node.next.set(character, next);
      node = next;
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
    let [text, node] = [first, following];
    for (let [only] = node.next; only && node.next.size === 1 && node.rests.size === 0; [only] = node.next) {
      text += only[0];
      node = only[1];
    }
    const rest = node.next.size === 0 && node.rests.has("") && node.rests.size === 1 ? "" : ` ${written(node)}`;
    return `"${text}"${rest}`;
  });
  options.push(...[...rests].map((rest) => rest || '""'));
  return options.length === 1 ? (options[0] ?? "") : `(${options.join(" | ")})`;
}
