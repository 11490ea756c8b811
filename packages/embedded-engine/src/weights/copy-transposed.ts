/** Copies in tiles, which keep source and target in the cache: large matrices are several times faster than row by row. */
const tile = 32;

/** Copies a matrix into another one, whose rows are its columns. Strides are the distances of rows. */
export function copyTransposed(
  source: Float32Array,
  from: { rows: number; columns: number; stride: number; offset: number },
  target: Float32Array,
  to: { stride: number; offset: number },
): void {
  for (let row = 0; row < from.rows; row += tile) {
    const lastRow = Math.min(row + tile, from.rows);
    for (let column = 0; column < from.columns; column += tile) {
      const lastColumn = Math.min(column + tile, from.columns);
      for (let r = row; r < lastRow; r++) {
        for (let c = column; c < lastColumn; c++) {
          target[to.offset + c * to.stride + r] = source[from.offset + r * from.stride + c]!;
        }
      }
    }
  }
}
