/** Searches for stop strings in streamed text. */
export interface StopStrings {
  /** Adds text. `release` is the length of the text so far that can no longer be part of a match. */
  push(piece: string): { match?: StopMatch; release: number };
}

interface StopMatch {
  stop: string;
  /** Start and end in the text pushed so far. */
  start: number;
  end: number;
}

/**
 * Finds the match that ends first, and of those with the same end the one that starts first. One Knuth-Morris-Pratt
 * automaton per string: its state is the length of the longest prefix of the string that the text ends with, which must
 * be held back.
 */
export function createStopStrings(stops: readonly string[]): StopStrings {
  const automata = stops.map((stop) => ({ stop, fallback: fallbacks(stop), state: 0 }));
  let length = 0;
  return {
    push(piece) {
      for (let i = 0; i < piece.length; i++) {
        length++;
        let match: StopMatch | undefined;
        for (const automaton of automata) {
          const { stop, fallback } = automaton;
          let state = automaton.state;
          while (state > 0 && stop[state] !== piece[i]) state = fallback[state - 1] ?? 0;
          if (stop[state] === piece[i]) state++;
          automaton.state = state;
          const start = length - stop.length;
          if (state === stop.length && !(match && match.start <= start)) match = { stop, start, end: length };
        }
        if (match) return { match, release: match.start };
      }
      return { release: length - automata.reduce((held, { state }) => Math.max(held, state), 0) };
    },
  };
}

/** Returns, for every prefix of `text`, the length of its longest proper prefix that is also a suffix. */
function fallbacks(text: string): Int32Array {
  const lengths = new Int32Array(text.length);
  let state = 0;
  for (let i = 1; i < text.length; i++) {
    while (state > 0 && text[state] !== text[i]) state = lengths[state - 1] ?? 0;
    if (text[state] === text[i]) state++;
    lengths[i] = state;
  }
  return lengths;
}
