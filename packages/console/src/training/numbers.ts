import { formatCount } from "../ui/format.js";

const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, useGrouping: false });
const scientific = new Intl.NumberFormat("en", { notation: "scientific", maximumSignificantDigits: 3 });

/** A measured number with three digits: `0.712`, `2.04e-5`, `−1.4`. What is none says so. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text =
    size !== 0 && (size < 0.001 || size >= 1e6) ? scientific.format(value).replace("E", "e") : three.format(value);
  return text.replace(/^-/, "−");
}

/** A place on an axis: of steps every digit, since each is another one. */
export const formatPlace = (x: number): string => (Number.isInteger(x) ? formatCount(x) : formatNumber(x));
