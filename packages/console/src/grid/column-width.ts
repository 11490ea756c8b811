/** The least and the greatest width that a column can be given, in pixels. */
export const [leastWidth, greatestWidth] = [40, 2000];

/** A width that is possible. */
export const possibleWidth = (width: number): number =>
  Math.round(Math.max(leastWidth, Math.min(greatestWidth, width)));
