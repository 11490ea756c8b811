/**
 * Called before values of no fixed size are read, with their bytes and the rows that hold them: the caller makes sure of
 * the memory, or throws.
 */
export type ReserveRows = (bytes: number, rows: number) => Promise<unknown>;
