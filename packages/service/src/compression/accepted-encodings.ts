/**
 * Returns the weight that an `Accept-Encoding` header gives to an encoding: `q=0` forbids it, and `*` means those that are
 * not named.
 */
export function acceptedEncodings(header: string): (name: string) => number {
  const weights = new Map(
    header.split(",").map((part) => {
      const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
    }),
  );
  return (name) => weights.get(name) ?? weights.get("*") ?? 0;
}
