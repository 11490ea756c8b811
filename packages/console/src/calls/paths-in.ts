/** The paths of a text with one a line, each once. */
export const pathsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(/[\n,]/)
      .map((path) => path.trim())
      .filter(Boolean),
  ),
];
