/**
 * A JSON number token as Python prints it after parsing: integers keep all their digits, floats get the shortest
 * round-trip form with `.0` or an exponent (from 1e16 up and below 1e-4), and what exceeds a double is Infinity.
 */
export function pythonNumber(token: string): string {
  if (!/[.eEN]/.test(token)) return token === "-0" ? "0" : token;
  if (token.endsWith("N") || token.endsWith("y")) return token;
  return pythonFloat(Number(token));
}

/** Python's `repr` of a float; NaN and infinities as its JSON encoder spells them. */
export function pythonFloat(value: number): string {
  const magnitude = Math.abs(value);
  // Here JavaScript writes the same digits, but for the `.0`.
  if (magnitude >= 1e-4 && magnitude < 1e16) return Number.isInteger(value) ? `${value}.0` : String(value);
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  if (!Number.isFinite(value)) return String(value);
  const [mantissa = "", power = ""] = value.toExponential().split("e");
  return `${mantissa}e${power.slice(0, 1)}${power.slice(1).padStart(2, "0")}`;
}
