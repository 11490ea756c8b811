import type { CodePointRange } from "../utf8-ranges.js";
import { normalizeRanges } from "../utf8-ranges.js";

const known = new Map<string, readonly CodePointRange[]>();
const maxKnown = 64;

/** Returns the characters of `\p{name}` or, for the letter P, the others. Undefined if there is no such property. */
export function unicodeProperty(letter: string, name: string): readonly CodePointRange[] | undefined {
  if (!/^[A-Za-z_=0-9]{1,60}$/.test(name)) return undefined;
  const source = `\\${letter}{${name}}`;
  const found = known.get(source) ?? rangesOf(source);
  if (found && known.size < maxKnown) known.set(source, found);
  return found;
}

function rangesOf(source: string): CodePointRange[] | undefined {
  let characters: RegExp;
  try {
    characters = new RegExp(`^${source}$`, "u");
  } catch {
    return undefined;
  }
  const ranges: [number, number][] = [];
  for (let point = 0; point <= 0x10ffff; point++) {
    if (!characters.test(String.fromCodePoint(point))) continue;
    const last = ranges.at(-1);
    if (last && last[1] === point - 1) last[1] = point;
    else ranges.push([point, point]);
  }
  return normalizeRanges(ranges);
}
