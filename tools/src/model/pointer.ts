/** `/paths` + `/call/start` → `/paths/~1call~1start` */
export function at(pointer: string, ...steps: (string | number)[]): string {
  return steps.reduce<string>(
    (path, step) => `${path}/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`,
    pointer,
  );
}
