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
  if (!Number.isFinite(value)) return String(value);
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "0", power = "0"] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const padded = String(Math.abs(exponent)).padStart(2, "0");
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${padded}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}
