/** The built console; undefined while there is none to serve. */
export const consoleDirectory: string | undefined = undefined;
