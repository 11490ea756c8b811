/** Of the keys that the service makes and takes. */
const minLength = 40;

/** What is wrong with a text that is given as a key, so that it cannot be one; undefined where it may be. */
export function keyMistake(given: string): string | undefined {
  const key = given.trim();
  if (key === "") return "Enter a key.";
  const wrong = /[^A-Za-z0-9_]/.exec(key);
  if (/^(?:bearer|basic)\s/i.test(key)) return "Enter the key alone, without what precedes it in a header.";
  if (wrong !== null) {
    const character = /\s/.test(wrong[0]) ? "a space" : `“${wrong[0]}”`;
    return `A key has letters, digits and _ only; this one has ${character} at position ${wrong.index + 1}.`;
  }
  if (key.length < minLength) return `A key has at least ${minLength} characters; this one has ${key.length}.`;
  return undefined;
}
